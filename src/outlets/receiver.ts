/**
 * A billing system that receives usage. Each type (a file in `types/`) implements the requests and answers of its
 * system and knows nothing about the ledger: the caller decides which events are sent, retried or given up.
 */
export interface Receiver {
  readonly limits: ReceiverLimits;
  /**
   * Posts at most `eventsPerCall` events, in order; a retried event has the same id and time. Returns one outcome per
   * event, in the same order. A missing answer, a refusal and an abort are outcomes, too; only a defect of the program
   * rejects.
   */
  send(events: readonly UsageEvent[], signal: AbortSignal): Promise<SendOutcome[]>;
  /**
   * Returns the receiver's sums of these customers in a month (`YYYY-MM`, UTC), by customer. A sum is a whole or
   * decimal number as text; for a customer without usage it is `0` or missing. Null for a receiver that cannot be
   * queried. Throws AppError if the receiver does not answer.
   */
  usage(period: string, customers: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string> | null>;
  /**
   * Checks credentials and meter without changing anything. Throws AppError with a hint: `outlet_unauthorized` if the
   * credentials are refused, `outlet_mismatch` if the meter would not sum the events, `outlet_unreachable` if there is
   * no usable answer.
   */
  probe(signal: AbortSignal): Promise<void>;
  /**
   * Reads the receiver's reports since that time and returns the events that it refused after it had accepted them. A
   * receiver whose answers are final lacks this method. Throws AppError if the receiver does not answer.
   */
  readLateRefusals?(sinceMs: number, signal: AbortSignal): Promise<LateRefusals>;
}

/** Events that a receiver refused after it had accepted them. */
export interface LateRefusals {
  /** Reasons by event id. */
  refused: ReadonlyMap<string, string>;
  /** Number of refused events that the receiver's reports do not name: only its sums of usage are too low. */
  unnamed: number;
  /** Time of the last report by the receiver's clock; null if there is none. */
  untilMs: number | null;
}

/** Limits from the documentation of the receiver. The file of each type names the page. */
export interface ReceiverLimits {
  /** Maximum events per `send`. A type may split them into several requests. */
  eventsPerCall: number;
  /** Maximum number of calls of `send` that start in one second. */
  callsPerSecond: number;
  /**
   * How long the receiver recognizes an id that it has had. Before an event that may have been sent longer ago is sent
   * again, the receiver is asked whether it has the event.
   */
  remembersMs: number;
  /** Maximum age of an event; older events become `late`. Null: no limit. */
  maxEventAgeMs: number | null;
  /** If false, an event with a negative quantity is not sent; it is recorded as `late`. */
  acceptsNegative: boolean;
  /** Time after which the sums of `usage` include an accepted event. */
  visibleAfterMs: number;
  /**
   * True: an event carries both credits and requests. False: an event carries the one that the outlet is configured to
   * send, and entries that do not change it are skipped.
   */
  sendsBothQuantities: boolean;
}

/** One ledger entry in the form sent to a receiver. */
export interface UsageEvent {
  /**
   * Unique id from ledger and entry: at most 80 characters of A-Z, a-z, 0-9, `-` and `_`. Receivers deduplicate by it.
   */
  id: string;
  /** The receiver's name for the tenant. */
  customer: string;
  /** Change in credits or requests, depending on the outlet's `send`; may be negative. */
  quantity: bigint;
  /** Time within the month of the usage, in milliseconds since the epoch; every attempt sends the same time. */
  timeMs: number;
  workspaceId: string;
  tenantId: string;
  /** `YYYY-MM` */
  period: string;
  credits: bigint;
  requests: bigint;
}

/** The outcome of sending one event. */
export type SendOutcome =
  /** The receiver has the event now, or had its id already. */
  | { is: 'accepted' }
  /** The receiver will never accept this event. `answer` explains the reason to a person. */
  | { is: 'refused'; answer: string }
  /** The event is too old, or its month is closed at the receiver. */
  | { is: 'late'; answer: string }
  /**
   * Retry later: no answer, too many requests, a server error, or a time ahead of the receiver's clock. `certain`: true
   * if the event was certainly not accepted; after a missing answer or a 5xx status that is unknown. `afterMs`: the
   * delay that the receiver asked for; null if it asked for none.
   */
  | { is: 'retry'; answer: string; certain: boolean; afterMs: number | null }
  /** The credentials are refused: nothing more is sent until they are corrected. */
  | { is: 'unauthorized'; answer: string };
