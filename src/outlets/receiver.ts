/**
 * A billing system that receives usage. Each type of billing system has a file in `types/`, which implements the
 * system's requests and answers and knows nothing about the ledger. The caller decides which events are sent, retried
 * or given up.
 */
export interface Receiver {
  readonly limits: ReceiverLimits;
  /**
   * Posts at most `eventsPerCall` events, in order. A retried event has the same id and time as before. Returns one
   * outcome for each event, in the same order. A missing answer, a refusal and an abort are also outcomes; the promise
   * rejects only for a defect of the program.
   */
  send(events: readonly UsageEvent[], signal: AbortSignal): Promise<SendOutcome[]>;
  /**
   * Returns the receiver's sum for each of these customers in a month (`YYYY-MM`, UTC). A sum is a whole or decimal
   * number as text; for a customer without usage it is `0` or missing. Returns null for a receiver that cannot be
   * queried. Throws AppError if the receiver does not answer.
   */
  usage(period: string, customers: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string> | null>;
  /**
   * Checks the credentials and the meter without changing anything. Throws AppError with a hint: `outlet_unauthorized`
   * if the credentials are refused, `outlet_mismatch` if the meter would not sum the events, `outlet_unreachable` if
   * there is no usable answer.
   */
  probe(signal: AbortSignal): Promise<void>;
  /**
   * Reads the receiver's reports since `sinceMs` and returns the events that it refused after it had accepted them. A
   * receiver whose answers are final does not have this method. Throws AppError if the receiver does not answer.
   */
  readLateRefusals?(sinceMs: number, signal: AbortSignal): Promise<LateRefusals>;
}

/** Events that a receiver refused after it had accepted them. */
export interface LateRefusals {
  /** The reason for each refused event, by event id. */
  refused: ReadonlyMap<string, string>;
  /**
   * The number of refused events whose ids the reports do not contain. Only the receiver's sums show that these events
   * are missing.
   */
  unnamed: number;
  /**
   * The time of the last report, by the receiver's clock, in milliseconds since the epoch; null if there is no report.
   */
  untilMs: number | null;
}

/** Limits from the receiver's documentation. The file of each type names the page of the documentation. */
export interface ReceiverLimits {
  /** The maximum number of events per call of `send`. A receiver type may split them into several requests. */
  eventsPerCall: number;
  /** Maximum number of calls of `send` that start in one second. */
  callsPerSecond: number;
  /**
   * How long the receiver recognizes the id of an event that it already has. Before an event that may have been sent
   * longer ago is sent again, the receiver is asked whether it has the event.
   */
  remembersMs: number;
  /** The maximum age of an event, in milliseconds. Older events become `late`. Null: no limit. */
  maxEventAgeMs: number | null;
  /** If false, an event with a negative quantity is not sent; it is recorded as `late`. */
  acceptsNegative: boolean;
  /** The time in milliseconds after which the sums of `usage` include an accepted event. */
  visibleAfterMs: number;
  /**
   * True if an event carries both credits and requests. If false, an event carries the quantity that the outlet is
   * configured to send, and entries that do not change this quantity are skipped.
   */
  sendsBothQuantities: boolean;
}

/** One ledger entry in the form sent to a receiver. */
export interface UsageEvent {
  /**
   * A unique id, made from the ids of ledger and entry: at most 80 characters of A-Z, a-z, 0-9, `-` and `_`. The
   * receiver counts events with the same id only once.
   */
  id: string;
  /** The name by which the receiver knows the tenant. */
  customer: string;
  /** The change in credits or requests, depending on the outlet's `send`. May be negative. */
  quantity: bigint;
  /**
   * The time of the event, within the month of the usage, in milliseconds since the epoch. Every attempt sends the same
   * time.
   */
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
  /** The receiver has the event: it accepted the event now, or had its id already. */
  | { is: 'accepted' }
  /** The receiver will never accept this event. `answer` explains the reason to a person. */
  | { is: 'refused'; answer: string }
  /** The event is too old, or its month is closed at the receiver. */
  | { is: 'late'; answer: string }
  /**
   * Send the event again later: there was no answer, there were too many requests, the server had an error, or the
   * event's time is ahead of the receiver's clock. `certain` is true if the receiver certainly did not accept the
   * event; it is false after a missing answer or a 5xx status, because it is then unknown. `afterMs`: the delay that
   * the receiver asked for; null if it asked for none.
   */
  | { is: 'retry'; answer: string; certain: boolean; afterMs: number | null }
  /** The credentials are refused: nothing more is sent until they are corrected. */
  | { is: 'unauthorized'; answer: string };
