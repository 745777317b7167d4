import pMap from 'p-map';
import type { OutletConfig } from '../config/types.ts';
import type { Clock } from '../core/clock.ts';
import { ageMs } from '../core/stored-time.ts';
import { type OutletException, type OutletRow, type Pause, readOutlet } from '../ledger/journal/outlets/outlet-book.ts';
import {
  entriesAfterCursor,
  exceptionIds,
  heldEntries,
  heldTenants,
  lastEntryId,
  type OutletEntry,
} from '../ledger/journal/outlets/read-entries.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { HostPacer } from '../net/pacer.ts';
import type { Writer } from '../writer/writer.ts';
import { chunks } from './answers.ts';
import { type OutletScope, prepareEntry } from './events.ts';
import { checkInFlight, type Verdict } from './read-back.ts';
import type { Outcome, Receiver, UsageEvent } from './receiver.ts';

/** Entries that are read, marked, sent and recorded in one step. */
const ENTRIES_PER_STEP = 1000;
/** Maximum number of concurrent calls. */
const MAX_CONCURRENT_CALLS = 4;

export interface ForwarderDeps {
  outlet: OutletConfig;
  receiver: Receiver;
  ledgerId: string;
  connection: LedgerDb;
  writer(): Promise<Pick<Writer, 'markInFlight' | 'advanceOutlet' | 'pauseOutlet'>>;
  clock: Clock;
}

export interface StepReport {
  /** Number of accepted events. */
  taken: number;
  /** True if another step may send more now. */
  more: boolean;
  /** The reason why waiting events were not accepted, and the delay before the next attempt; null: no failure. */
  fault: { answer: string; afterMs: number | null } | null;
  /** The reason if this step has paused the outlet. */
  paused: string | null;
}

const NOTHING_SENT_REPORT: StepReport = { taken: 0, more: false, fault: null, paused: null };

export function receiverKind({ type, send }: Pick<OutletConfig, 'type' | 'send'>): string {
  return `${type} ${send}`;
}

export function scopeOf(row: OutletRow, ledgerId: string): OutletScope {
  const workspaces = row.workspaces === null ? null : (JSON.parse(row.workspaces) as string[]);
  return { ledgerId, fromPeriod: row.fromPeriod, workspaces };
}

/** Returns the reason why an outlet that was started and is not paused sends nothing; null if it sends. */
export function reasonNotSending(row: OutletRow, outlet: OutletConfig): string | null {
  const start = `run \`usage-ledger outlets start ${outlet.name}\` to preview the change`;
  if (row.receiver !== receiverKind(outlet)) {
    return `started as ${row.receiver}: give another receiver another outlet name`;
  }
  return row.workspaces === (outlet.workspaces && JSON.stringify(outlet.workspaces))
    ? null
    : `started for other workspaces: ${start}`;
}

/** Forwards ledger entries to one receiver. After each step the ledger records which entries the receiver has. */
export class Forwarder {
  readonly #deps: ForwarderDeps;
  readonly #pace: (signal: AbortSignal) => Promise<void>;
  /** The receiver's answers about events up to entry `upTo` that may have been sent. */
  #verdicts: { upTo: number; askedMs: number; of: (event: UsageEvent) => Verdict } | null = null;

  constructor(deps: ForwarderDeps) {
    this.#deps = deps;
    this.#pace = new HostPacer(deps.receiver.limits.callsPerSecond, deps.clock).lane('');
  }

  /** Sends the next entries after the cursor, at most a thousand. */
  async step(signal: AbortSignal): Promise<StepReport> {
    const { connection, clock, receiver, outlet } = this.#deps;
    const row = readOutlet(connection, outlet.name);
    if (row === undefined || row.paused !== null || reasonNotSending(row, outlet) !== null) return NOTHING_SENT_REPORT;
    const { cursor, flightTo } = row;
    if (this.#verdicts !== null && !this.#counts(this.#verdicts, cursor)) this.#verdicts = null;
    const isUncertain = flightTo !== null && flightTo > cursor && this.#isForgotten(row.flightSince);
    if (isUncertain && (this.#verdicts?.upTo ?? 0) < flightTo) {
      const of = await checkInFlight(this.#deps, row, flightTo, signal);
      if (of === null) return this.#pauseUncertain(row, flightTo);
      this.#verdicts = { upTo: flightTo, askedMs: clock.monotonic(), of };
    }
    // Entries in flight are settled before others are sent, so that a customer's sum shows whether the receiver has them.
    const to = flightTo !== null && flightTo > cursor ? flightTo : lastEntryId(connection);
    const entries = entriesAfterCursor(connection, { cursor, to, limit: ENTRIES_PER_STEP });
    const last = entries.at(-1);
    if (last === undefined) return NOTHING_SENT_REPORT;
    const lastId = Number(last.entryId);
    const apart = exceptionIds(connection, { outlet: row.name, cursor, to: lastId });
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

  /** Sends held entries of one tenant that now has a name at the receiver or is in a resumed workspace. */
  async stepHeld(signal: AbortSignal): Promise<StepReport> {
    const { connection, clock, receiver, outlet } = this.#deps;
    const row = readOutlet(connection, outlet.name);
    if (row === undefined || row.paused !== null || reasonNotSending(row, outlet) !== null) return NOTHING_SENT_REPORT;
    const free = heldTenants(connection, row.name).find((entry) => this.#judge([entry], row).held === 0);
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
    const perhaps = 'may have been sent, and the receiver may have forgotten its id: check there, then settle it';
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

  /** Reports whether verdicts are still valid: entries remain up to theirs, and the receiver remembers ids sent since. */
  #counts({ upTo, askedMs }: { upTo: number; askedMs: number }, cursor: number): boolean {
    const { clock, receiver } = this.#deps;
    return upTo > cursor && clock.monotonic() - askedMs < receiver.limits.remembersMs;
  }

  /** Reports whether the receiver may have forgotten ids sent at that time and would count them twice; true if unknown. */
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

  /** Sends the events and returns one outcome for each, including those not sent because an earlier one has to wait. */
  async #send(events: readonly UsageEvent[], receiver: Receiver, signal: AbortSignal): Promise<Outcome[]> {
    const outcomes: Outcome[] = events.map((event) => this.#known(event) ?? NOT_SENT);
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

  #known(event: UsageEvent): Outcome | null {
    const verdict = this.#verdicts?.of(event) ?? 'absent';
    if (verdict === 'absent') return null;
    return verdict === 'there' ? { is: 'accepted' } : { is: 'refused', answer: verdict.unclear };
  }

  async #note(
    { name, cursor }: OutletRow,
    outcomes: readonly Outcome[],
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
    const pause: { paused: Pause; reason: string } | null =
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

const NOT_SENT: Outcome = { is: 'retry', answer: 'not sent yet', certain: true, afterMs: null };
const NO_OUTCOME: Outcome = {
  is: 'retry',
  answer: 'the receiver type returned no outcome',
  certain: false,
  afterMs: null,
};

function isUndecided(outcome: Outcome | undefined): boolean {
  return outcome === undefined || outcome.is === 'retry' || outcome.is === 'unauthorized';
}

/** Reports whether an event was certainly not accepted. */
function isCertain(outcome: Outcome | undefined): boolean {
  return outcome?.is === 'unauthorized' || (outcome?.is === 'retry' && outcome.certain) || outcome?.is === 'refused';
}

function exceptionOf(entryId: number, outcome: Outcome | undefined): OutletException[] {
  return outcome?.is === 'refused' || outcome?.is === 'late'
    ? [{ entryId, state: outcome.is, reason: outcome.answer }]
    : [];
}
