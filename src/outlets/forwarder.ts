import pMap from 'p-map';
import type { OutletConfig } from '../config/types.ts';
import type { Clock } from '../core/clock.ts';
import { ageMs } from '../core/stored-time.ts';
import {
  type OutletException,
  type OutletPause,
  type OutletRow,
  readOutlet,
} from '../ledger/journal/outlets/outlet-book.ts';
import {
  entriesAfterCursor,
  findExceptionIds,
  firstHeldEntries,
  heldEntries,
  lastEntryId,
  type OutletEntry,
} from '../ledger/journal/outlets/read-entries.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { HostPacer } from '../net/pacer.ts';
import type { Writer } from '../writer/writer.ts';
import { chunks } from './answers.ts';
import { type OutletScope, prepareEntry } from './events.ts';
import { type ArrivalStatus, createArrivalLookup } from './read-back.ts';
import type { Receiver, SendOutcome, UsageEvent } from './receiver.ts';

/** Maximum number of entries that one step reads, marks as in flight, sends, and records. */
const ENTRIES_PER_STEP = 1000;
/** Maximum number of concurrent requests to the receiver. */
const MAX_CONCURRENT_CALLS = 4;

export interface ForwarderDeps {
  outlet: OutletConfig;
  receiver: Receiver;
  ledgerId: string;
  connection: LedgerDb;
  writer(): Promise<Pick<Writer, 'markInFlight' | 'advanceOutlet' | 'pauseOutlet'>>;
  clock: Clock;
}

/** What one step of the forwarder achieved. */
export interface StepReport {
  /** Number of events that the receiver accepted. */
  taken: number;
  /** True if another step may send more now. */
  more: boolean;
  /**
   * If events must be sent again, the receiver's answer and the delay that it asked for (`afterMs`; null if it asked
   * for none). Null if nothing failed.
   */
  fault: { answer: string; afterMs: number | null } | null;
  /** Why this step paused the outlet; null if it did not. */
  paused: string | null;
}

const NOTHING_SENT_REPORT: StepReport = { taken: 0, more: false, fault: null, paused: null };

/**
 * Returns the receiver's type and the quantity sent, such as `stripe credits`. A started outlet cannot change either.
 */
export function receiverKind({ type, send }: Pick<OutletConfig, 'type' | 'send'>): string {
  return `${type} ${send}`;
}

/** Returns the part of the ledger that a started outlet sends. */
export function scopeOf(row: OutletRow, ledgerId: string): OutletScope {
  const workspaces = row.workspaces === null ? null : (JSON.parse(row.workspaces) as string[]);
  return { ledgerId, fromPeriod: row.fromPeriod, workspaces };
}

/** Returns the reason why a started outlet sends nothing although it is not paused; null if it sends. */
export function reasonNotSending(row: OutletRow, outlet: OutletConfig): string | null {
  const start = `to preview the change, run \`usage-ledger outlets start ${outlet.name}\``;
  if (row.receiver !== receiverKind(outlet)) {
    return `the outlet was started for ${row.receiver}, which cannot change: configure another receiver under another name`;
  }
  return row.workspaces === (outlet.workspaces && JSON.stringify(outlet.workspaces))
    ? null
    : `its setting \`workspaces\` has changed since the outlet was started: ${start}`;
}

/** Forwards ledger entries to one receiver. After each step the ledger records which entries the receiver has. */
export class Forwarder {
  readonly #deps: ForwarderDeps;
  readonly #pace: (signal: AbortSignal) => Promise<void>;
  /**
   * `of` reports whether the receiver has an event, for events up to entry `upTo` that may have been sent. Null if the
   * receiver has not been queried.
   */
  #arrivals: { upTo: number; askedMs: number; of: (event: UsageEvent) => ArrivalStatus } | null = null;

  constructor(deps: ForwarderDeps) {
    this.#deps = deps;
    this.#pace = new HostPacer(deps.receiver.limits.callsPerSecond, deps.clock).lane('');
  }

  /**
   * Sends the next entries after the outlet's cursor, at most `ENTRIES_PER_STEP`. All entries up to the cursor have
   * been processed.
   */
  async step(signal: AbortSignal): Promise<StepReport> {
    const { connection, clock, receiver, outlet } = this.#deps;
    const row = readOutlet(connection, outlet.name);
    if (row === undefined || row.paused !== null || reasonNotSending(row, outlet) !== null) return NOTHING_SENT_REPORT;
    const { cursor, flightTo } = row;
    if (this.#arrivals !== null && !this.#counts(this.#arrivals, cursor)) this.#arrivals = null;
    const isUncertain = flightTo !== null && flightTo > cursor && this.#isForgotten(row.flightSince);
    if (isUncertain && (this.#arrivals?.upTo ?? 0) < flightTo) {
      const of = await createArrivalLookup(this.#deps, row, flightTo, signal);
      if (of === null) return this.#pauseUncertain(row, flightTo);
      this.#arrivals = { upTo: flightTo, askedMs: clock.monotonic(), of };
    }
    // Events that may have been sent are cleared up before other events are sent. Otherwise a customer's sum would not
    // show whether the receiver has them.
    const to = flightTo !== null && flightTo > cursor ? flightTo : lastEntryId(connection);
    const entries = entriesAfterCursor(connection, { cursor, to, limit: ENTRIES_PER_STEP });
    const last = entries.at(-1);
    if (last === undefined) return NOTHING_SENT_REPORT;
    const lastId = Number(last.entryId);
    const apart = findExceptionIds(connection, { outlet: row.name, cursor, to: lastId });
    const prepared = this.#judge(
      entries.filter(({ entryId }) => !apart.has(entryId)),
      row,
    );
    const exceptions = prepared.exceptions.map((one) =>
      one.entryId > (flightTo ?? 0) ? one : { ...one, postedAt: row.flightSince },
    );
    const sending = prepared.events.map(({ event }) => event);
    if (sending.length > 0) {
      const mark = { name: row.name, cursor, to: lastId, exceptions, held: [], nowMs: clock.now() };
      await (await this.#deps.writer()).markInFlight(mark);
    }
    const outcomes = await this.#send(sending, receiver, signal);
    const undecided = outcomes.findIndex(isUndecided);
    const stoppedAt = undecided < 0 ? null : prepared.events[undecided];
    const upTo = stoppedAt == null ? lastId : stoppedAt.entryId - 1;
    const refused = prepared.events.flatMap(({ entryId }, at) => exceptionOf(entryId, outcomes[at]));
    return this.#note(row, outcomes, {
      to: upTo,
      exceptions: sending.length === 0 ? exceptions : refused.filter(({ entryId }) => entryId <= upTo),
      taken: [],
      unposted: [],
      landed: flightTo === null && undecided >= 0 && outcomes.slice(undecided).every(isCertain),
    });
  }

  /**
   * Sends the held entries of one tenant that now has a name at the receiver, or whose workspace is no longer retired.
   */
  async stepHeld(signal: AbortSignal): Promise<StepReport> {
    const { connection, clock, receiver, outlet } = this.#deps;
    const row = readOutlet(connection, outlet.name);
    if (row === undefined || row.paused !== null || reasonNotSending(row, outlet) !== null) return NOTHING_SENT_REPORT;
    const free = firstHeldEntries(connection, row.name).find((entry) => this.#judge([entry], row).held === 0);
    if (free === undefined) return NOTHING_SENT_REPORT;
    const entries = heldEntries(connection, { outlet: row.name, tenantKey: free.tenantKey, limit: ENTRIES_PER_STEP });
    const forgotten = entries.filter(({ postedAt }) => postedAt !== null && this.#isForgotten(postedAt));
    const { events, exceptions, left } = this.#judge(
      entries.filter((entry) => !forgotten.includes(entry)),
      row,
    );
    const held = events.map(({ entryId }) => entryId);
    const before = new Set(entries.filter(({ postedAt }) => postedAt !== null).map(({ entryId }) => Number(entryId)));
    const mark = { name: row.name, cursor: row.cursor, to: null, exceptions: [], held, nowMs: clock.now() };
    await (await this.#deps.writer()).markInFlight(mark);
    const sending = events.map(({ event }) => event);
    const outcomes = await this.#send(sending, receiver, signal);
    const perhaps =
      'the event may have been sent, and the receiver may have forgotten its id: look for it there, then run `usage-ledger outlets settle`';
    return this.#note(row, outcomes, {
      to: row.cursor,
      exceptions: [
        ...exceptions,
        ...forgotten.map(({ entryId }) => ({ entryId: Number(entryId), state: 'refused' as const, reason: perhaps })),
        ...events.flatMap(({ entryId }, at) => exceptionOf(entryId, outcomes[at])),
      ],
      taken: [...held.filter((_, at) => outcomes[at]?.is === 'accepted'), ...left],
      unposted: held.filter((id, at) => !before.has(id) && isUndecided(outcomes[at]) && isCertain(outcomes[at])),
      landed: false,
    });
  }

  /**
   * Reports whether the saved answers of the receiver can still be used. They must include an entry after the
   * cursor, and the receiver must still recognize the ids of events that were sent since it answered.
   */
  #counts({ upTo, askedMs }: { upTo: number; askedMs: number }, cursor: number): boolean {
    const { clock, receiver } = this.#deps;
    return upTo > cursor && clock.monotonic() - askedMs < receiver.limits.remembersMs;
  }

  /**
   * Reports whether the receiver may have forgotten the ids of events that were sent at time `since`. It would then
   * count these events twice. True if the age of the events is unknown.
   */
  #isForgotten(since: string | null): boolean {
    const age = since === null ? 0 : ageMs(Date.parse(since), this.#deps.clock.now());
    return age === null || age >= this.#deps.receiver.limits.remembersMs;
  }

  #judge(entries: readonly OutletEntry[], row: OutletRow) {
    const { outlet, receiver, ledgerId, clock } = this.#deps;
    const by = { scope: scopeOf(row, ledgerId), outlet, limits: receiver.limits, flightTo: row.flightTo ?? 0 };
    const nowMs = clock.now();
    const events: { entryId: number; event: UsageEvent }[] = [];
    const exceptions: OutletException[] = [];
    const left: number[] = [];
    for (const entry of entries) {
      const prepared = prepareEntry(entry, by, nowMs);
      const entryId = Number(entry.entryId);
      if (prepared === null) left.push(entryId);
      else if ('event' in prepared) events.push({ entryId, event: prepared.event });
      else exceptions.push(prepared.exception);
    }
    return { events, exceptions, left, held: exceptions.filter(({ state }) => state === 'held').length };
  }

  /**
   * Sends the events and returns one outcome for each of them. The outcome is `NOT_SENT` for events that must wait
   * because another event failed.
   */
  async #send(events: readonly UsageEvent[], receiver: Receiver, signal: AbortSignal): Promise<SendOutcome[]> {
    const outcomes: SendOutcome[] = events.map((event) => this.#known(event) ?? NOT_SENT);
    const open = [...events.keys()].filter((at) => outcomes[at] === NOT_SENT);
    let stopped = false;
    const sendPart = async (part: readonly number[]): Promise<void> => {
      if (stopped || signal.aborted) return;
      await this.#pace(signal).catch(() => undefined);
      if (signal.aborted) return;
      const sent = part.map((at) => events[at] as UsageEvent);
      const answers = await receiver.send(sent, signal);
      for (const [index, at] of part.entries()) outcomes[at] = answers[index] ?? NO_OUTCOME;
      stopped ||= answers.some(isUndecided);
    };
    await pMap(chunks(open, receiver.limits.eventsPerCall), sendPart, { concurrency: MAX_CONCURRENT_CALLS });
    return outcomes;
  }

  #known(event: UsageEvent): SendOutcome | null {
    const arrival = this.#arrivals?.of(event) ?? 'absent';
    if (arrival === 'absent') return null;
    return arrival === 'arrived' ? { is: 'accepted' } : { is: 'refused', answer: arrival.unclear };
  }

  async #note(
    { name, cursor }: OutletRow,
    outcomes: readonly SendOutcome[],
    what: {
      to: number;
      exceptions: OutletException[];
      taken: number[];
      unposted: number[];
      landed: boolean;
    },
  ): Promise<StepReport> {
    const refusal = outcomes.find((outcome) => outcome.is === 'unauthorized');
    const waiting = outcomes.find((outcome) => outcome.is === 'retry' && outcome !== NOT_SENT);
    const pause: { paused: OutletPause; reason: string } | null =
      refusal === undefined
        ? null
        : { paused: 'unauthorized', reason: `the receiver refused the credentials: ${refusal.answer}` };
    const nowMs = this.#deps.clock.now();
    await (await this.#deps.writer()).advanceOutlet({ name, cursor, ...what, pause, nowMs });
    return {
      taken: outcomes.filter(({ is }) => is === 'accepted').length,
      more: pause === null && !outcomes.some(isUndecided),
      fault: waiting?.is === 'retry' ? { answer: waiting.answer, afterMs: waiting.afterMs } : null,
      paused: pause?.reason ?? null,
    };
  }

  async #pauseUncertain({ name, flightSince }: OutletRow, flightTo: number): Promise<StepReport> {
    const reason = `entries up to ${flightTo} may have been sent at ${flightSince}, the receiver has forgotten ids of that time, and it cannot be queried`;
    const writer = await this.#deps.writer();
    await writer.pauseOutlet({ name, paused: 'uncertain', reason, nowMs: this.#deps.clock.now() });
    return { ...NOTHING_SENT_REPORT, paused: reason };
  }
}

const NOT_SENT: SendOutcome = { is: 'retry', answer: 'not sent yet', certain: true, afterMs: null };
const NO_OUTCOME: SendOutcome = {
  is: 'retry',
  answer: 'the receiver type returned no outcome',
  certain: false,
  afterMs: null,
};

function isUndecided(outcome: SendOutcome | undefined): boolean {
  return outcome === undefined || outcome.is === 'retry' || outcome.is === 'unauthorized';
}

/** Reports whether the outcome shows that the receiver certainly did not accept the event. */
function isCertain(outcome: SendOutcome | undefined): boolean {
  return outcome?.is === 'unauthorized' || (outcome?.is === 'retry' && outcome.certain) || outcome?.is === 'refused';
}

function exceptionOf(entryId: number, outcome: SendOutcome | undefined): OutletException[] {
  return outcome?.is === 'refused' || outcome?.is === 'late'
    ? [{ entryId, state: outcome.is, reason: outcome.answer }]
    : [];
}
