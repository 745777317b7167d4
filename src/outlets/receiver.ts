/**
 * A billing system that usage goes on to. A type of it (a file in `types/`) knows its requests and its answers, and nothing
 * of the ledger: what is sent, again, late or never is decided by who calls it.
 */
export interface Receiver {
  readonly limits: ReceiverLimits;
  /**
   * Posts these events, at most `eventsPerCall` of them, in order, each attempt of an event with the same id and the same
   * time. Returns one outcome for each event, in the same order. It rejects for nothing but a mistake of ours: no answer, a
   * refusal and an abort are outcomes.
   */
  send(events: readonly UsageEvent[], signal: AbortSignal): Promise<Outcome[]>;
  /**
   * What it has of these customers in that month (`YYYY-MM`, UTC), by customer: a whole or decimal number as text, `0` or
   * absent where it has nothing. Null for a receiver that cannot be asked. Raises an AppError when it does not answer.
   */
  usage(period: string, customers: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string> | null>;
  /**
   * A request with the credentials that changes nothing. Raises an AppError, `outlet_unauthorised` for credentials that
   * are refused, `outlet_mismatch` for a meter there that would not sum what is sent, and `outlet_unreachable` for no
   * usable answer; its hint says what to do.
   */
  probe(signal: AbortSignal): Promise<void>;
  /**
   * What it refused although it had answered that it took it, by its reports after that time. Absent: its answers say all.
   * Raises as `usage` does.
   */
  refusedLater?(sinceMs: number, signal: AbortSignal): Promise<LateRefusals>;
}

export interface LateRefusals {
  /** Ids of events, each with why. */
  refused: ReadonlyMap<string, string>;
  /** Refused events that it counts and does not name: only `usage` shows that they are missing. */
  unnamed: number;
  /** When the last of these reports was made, by the receiver's clock; null: there is none. */
  untilMs: number | null;
}

/** What its documentation says; a type's file names the page. */
export interface ReceiverLimits {
  /** Of one `send`. A receiver that takes one event a request is given several, and sends them by itself. */
  eventsPerCall: number;
  /** Calls of `send` that may begin in one second. */
  callsPerSecond: number;
  /** For how long an id is counted once only: what was perhaps taken longer ago is not sent again without asking. */
  remembersMs: number;
  /** How old the time of an event may be; null: of any age. What is older is late. */
  takesBackMs: number | null;
  /** False: an event with a negative quantity is not sent but named. */
  takesNegative: boolean;
  /** For how long after an event was taken `usage` may not show it yet. */
  showsAfterMs: number;
  /** True: an event says credits and requests; false: nothing is sent for an entry that leaves the one that is sent as it was. */
  carriesBoth: boolean;
}

/** One entry of the ledger on its way out. */
export interface UsageEvent {
  /** Of ledger and entry; at most 80 characters of A-Z, a-z, 0-9, `-` and `_`. The receiver counts one id once. */
  id: string;
  /** What the receiver calls the tenant. */
  customer: string;
  /** Credits or requests, as the outlet's `send` says: the change, a whole number that may be negative. */
  quantity: bigint;
  /** Inside the month that the usage belongs to, never later than that; the same on each attempt. */
  timeMs: number;
  workspaceId: string;
  tenantId: string;
  /** `YYYY-MM` */
  period: string;
  credits: bigint;
  requests: bigint;
}

export type Outcome =
  /** It has it now, or says that it has that id already. */
  | { is: 'taken' }
  /** This event will never be taken as it is, whatever others are. `answer` is what a person needs to see why. */
  | { is: 'refused'; answer: string }
  /** It is too old, or its month is closed there. */
  | { is: 'late'; answer: string }
  /**
   * Later: no answer, too many requests, an error of its own, a time that lies ahead of its clock. `certain`: it was not
   * taken, and that is sure; after no answer or a 5xx it is not. `afterMs`: as it asked for; null: as we like.
   */
  | { is: 'again'; answer: string; certain: boolean; afterMs: number | null }
  /** The credentials are refused: nothing more is sent until a person has mended them. */
  | { is: 'unauthorised'; answer: string };
