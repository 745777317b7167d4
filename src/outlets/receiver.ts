/**
 * A billing system that receives usage. Each type (a file in `types/`) knows the requests and answers of its system and
 * nothing about the ledger: the caller decides which events are sent, retried or given up.
 */
export interface Receiver {
  readonly limits: ReceiverLimits;
  /**
   * Posts at most `eventsPerCall` events, in order; a retried event has the same id and time. Returns one outcome per event,
   * in the same order. A missing answer, a refusal and an abort are outcomes; only a defect rejects.
   */
  send(events: readonly UsageEvent[], signal: AbortSignal): Promise<Outcome[]>;
  /**
   * Returns the receiver's sums of these customers in a month (`YYYY-MM`, UTC), by customer: a whole or decimal number as
   * text; `0` or absent if it has none. Null for a receiver that cannot be queried. Throws AppError if the receiver does not answer.
   */
  usage(period: string, customers: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string> | null>;
  /**
   * Checks credentials and meter without changing anything. Throws AppError with a hint: `outlet_unauthorized` if the
   * credentials are refused, `outlet_mismatch` if the meter would not sum the events, `outlet_unreachable` without a usable
   * answer.
   */
  probe(signal: AbortSignal): Promise<void>;
  /**
   * Returns the events that the receiver refused after accepting them, from its reports since that time. Absent if its
   * answers are final. Throws as `usage` does.
   */
  readLateRefusals?(sinceMs: number, signal: AbortSignal): Promise<LateRefusals>;
}

export interface LateRefusals {
  /** Reasons by event id. */
  refused: ReadonlyMap<string, string>;
  /** Number of refused events without an id in the reports: only `usage` shows that they are missing. */
  unnamed: number;
  /** Time of the last report by the receiver's clock; null if there is none. */
  untilMs: number | null;
}

/** Limits from the documentation of the receiver; each type's file names the page. */
export interface ReceiverLimits {
  /** Maximum events per `send`. A type may split them into several requests. */
  eventsPerCall: number;
  /** Maximum calls of `send` that start in one second. */
  callsPerSecond: number;
  /** How long the receiver deduplicates an id. Events that may have been sent before that are not sent again unchecked. */
  remembersMs: number;
  /** Maximum age of an event's time; older ones are `late`. Null: no limit. */
  maxEventAgeMs: number | null;
  /** False: events with a negative quantity are not sent but become exceptions. */
  acceptsNegative: boolean;
  /** Delay until `usage` includes an accepted event. */
  visibleAfterMs: number;
  /** True: events carry credits and requests. False: only the configured one, and entries that do not change it are skipped. */
  sendsBothQuantities: boolean;
}

/** One ledger entry in the form sent to a receiver. */
export interface UsageEvent {
  /** Unique id from ledger and entry: at most 80 characters of A-Z, a-z, 0-9, `-` and `_`. Receivers deduplicate by it. */
  id: string;
  /** The receiver's name for the tenant. */
  customer: string;
  /** Change in credits or requests, depending on the outlet's `send`; may be negative. */
  quantity: bigint;
  /** Time within the month of the usage, in milliseconds since the epoch; the same for each attempt. */
  timeMs: number;
  workspaceId: string;
  tenantId: string;
  /** `YYYY-MM` */
  period: string;
  credits: bigint;
  requests: bigint;
}

export type Outcome =
  /** The receiver has the event now, or had its id already. */
  | { is: 'accepted' }
  /** The receiver will never accept this event. `answer` explains the reason to a person. */
  | { is: 'refused'; answer: string }
  /** The event is too old, or its month is closed at the receiver. */
  | { is: 'late'; answer: string }
  /**
   * Retry later: no answer, too many requests, a server error, or a time ahead of the receiver's clock. `certain`: the event
   * was certainly not accepted, which a missing answer or a 5xx does not prove. `afterMs`: the delay that the receiver asked
   * for; null: none.
   */
  | { is: 'retry'; answer: string; certain: boolean; afterMs: number | null }
  /** The credentials are refused: nothing more is sent until they are corrected. */
  | { is: 'unauthorized'; answer: string };
