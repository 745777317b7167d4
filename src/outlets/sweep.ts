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
import { HostPacer } from '../sync/pacer.ts';
import type { Writer } from '../writer/writer.ts';
import { judgeEntry, type OutletScope } from './events.ts';
import { askAbout, type Verdict } from './read-back.ts';
import type { Outcome, Receiver, UsageEvent } from './receiver.ts';

/** Entries that are read, marked, sent and noted at a time. */
const ENTRIES_A_STEP = 1000;
/** Calls under way at once. */
const LANES = 4;

export interface SweepDeps {
  outlet: OutletConfig;
  receiver: Receiver;
  ledgerId: string;
  connection: LedgerDb;
  writer(): Promise<Pick<Writer, 'markInFlight' | 'advanceOutlet' | 'pauseOutlet'>>;
  clock: Clock;
}

export interface StepReport {
  /** Events that were taken. */
  taken: number;
  /** False: nothing waits that could go now. */
  more: boolean;
  /** Why what waits was not taken, and when to try again; null: nothing was in the way. */
  fault: { answer: string; afterMs: number | null } | null;
  /** It was paused by this step. */
  paused: string | null;
}

const NOTHING_SENT_YET: StepReport = { taken: 0, more: false, fault: null, paused: null };

export function receiverWord({ type, send }: Pick<OutletConfig, 'type' | 'send'>): string {
  return `${type} ${send}`;
}

export function scopeOf(row: OutletRow, ledgerId: string): OutletScope {
  const workspaces = row.workspaces === null ? null : (JSON.parse(row.workspaces) as string[]);
  return { ledgerId, fromPeriod: row.fromPeriod, workspaces };
}

/** Why an outlet that was begun sends nothing, though nobody paused it; null: it sends. */
export function whyNotSent(row: OutletRow, outlet: OutletConfig): string | null {
  const begin = `\`usage-ledger outlets begin ${outlet.name}\` shows what would go there`;
  if (row.receiver !== receiverWord(outlet)) {
    return `it was begun as ${row.receiver}: give what is another receiver another name`;
  }
  return row.workspaces === (outlet.workspaces && JSON.stringify(outlet.workspaces))
    ? null
    : `it was begun for other workspaces: ${begin}`;
}

/** Sends the entries of the ledger on to one receiver, in steps that each leave the ledger saying what its receiver has. */
export class Sweep {
  readonly #deps: SweepDeps;
  readonly #pace: (signal: AbortSignal) => Promise<void>;
  /** Of what was perhaps sent, up to that entry: what the receiver has of it. */
  #verdicts: { upTo: number; askedMs: number; of: (event: UsageEvent) => Verdict } | null = null;

  constructor(deps: SweepDeps) {
    this.#deps = deps;
    this.#pace = new HostPacer(deps.receiver.limits.callsPerSecond, deps.clock).lane('');
  }

  /** The entries behind the cursor, at most a thousand. */
  async step(signal: AbortSignal): Promise<StepReport> {
    const { connection, clock, receiver, outlet } = this.#deps;
    const row = readOutlet(connection, outlet.name);
    if (row === undefined || row.paused !== null || whyNotSent(row, outlet) !== null) return NOTHING_SENT_YET;
    const { cursor, flightTo } = row;
    if (this.#verdicts !== null && !this.#counts(this.#verdicts, cursor)) this.#verdicts = null;
    const isUncertain = flightTo !== null && flightTo > cursor && this.#isForgotten(row.flightSince);
    if (isUncertain && (this.#verdicts?.upTo ?? 0) < flightTo) {
      const of = await askAbout(this.#deps, row, flightTo, signal);
      if (of === null) return this.#pauseUncertain(row, flightTo);
      this.#verdicts = { upTo: flightTo, askedMs: clock.monotonic(), of };
    }
    // What was perhaps sent lands before anything else is sent: so the receiver has all of it or nothing, by customer.
    const to = flightTo !== null && flightTo > cursor ? flightTo : lastEntryId(connection);
    const entries = entriesAfterCursor(connection, { cursor, to, limit: ENTRIES_A_STEP });
    const last = entries.at(-1);
    if (last === undefined) return NOTHING_SENT_YET;
    const lastId = Number(last.entryId);
    const apart = exceptionIds(connection, { outlet: row.name, cursor, to: lastId });
    const judged = this.#judge(
      entries.filter(({ entryId }) => !apart.has(entryId)),
      row,
    );
    const exceptions = judged.exceptions.map((one) =>
      one.entryId > (flightTo ?? 0) ? one : { ...one, postedAt: row.flightSince },
    );
    const sending = judged.events.map(({ event }) => event);
    if (sending.length > 0) {
      const mark = { name: row.name, cursor, to: lastId, exceptions, held: [], nowMs: clock.now() };
      await (await this.#deps.writer()).markInFlight(mark);
    }
    const outcomes = await this.#send(sending, receiver, signal);
    const undecided = outcomes.findIndex(isUndecided);
    const stoppedAt = undecided < 0 ? null : judged.events[undecided];
    const upTo = stoppedAt == null ? lastId : stoppedAt.entryId - 1;
    const refused = judged.events.flatMap(({ entryId }, at) => exceptionOf(entryId, outcomes[at]));
    return this.#note(row, outcomes, {
      to: upTo,
      exceptions: sending.length === 0 ? exceptions : refused.filter(({ entryId }) => entryId <= upTo),
      taken: [],
      unposted: [],
      landed: flightTo === null && undecided >= 0 && outcomes.slice(undecided).every(isCertain),
    });
  }

  /** Held entries of tenants that have a name there by now, and of workspaces that are read again. */
  async stepHeld(signal: AbortSignal): Promise<StepReport> {
    const { connection, clock, receiver, outlet } = this.#deps;
    const row = readOutlet(connection, outlet.name);
    if (row === undefined || row.paused !== null || whyNotSent(row, outlet) !== null) return NOTHING_SENT_YET;
    const free = heldTenants(connection, row.name).find((entry) => this.#judge([entry], row).held === 0);
    if (free === undefined) return NOTHING_SENT_YET;
    const entries = heldEntries(connection, { outlet: row.name, tenantKey: free.tenantKey, limit: ENTRIES_A_STEP });
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
    const perhaps = 'it was perhaps sent, and the receiver may no longer know its id: look there, then settle it';
    return this.#note(row, outcomes, {
      to: row.cursor,
      exceptions: [
        ...exceptions,
        ...forgotten.map(({ entryId }) => ({ entryId: Number(entryId), state: 'refused' as const, reason: perhaps })),
        ...events.flatMap(({ entryId }, at) => exceptionOf(entryId, outcomes[at])),
      ],
      taken: [...held.filter((_, at) => outcomes[at]?.is === 'taken'), ...left],
      unposted: held.filter((id, at) => !before.has(id) && isUndecided(outcomes[at]) && isCertain(outcomes[at])),
      landed: false,
    });
  }

  /** What it said counts while there is something of it to send, and while the receiver remembers what was sent since. */
  #counts({ upTo, askedMs }: { upTo: number; askedMs: number }, cursor: number): boolean {
    const { clock, receiver } = this.#deps;
    return upTo > cursor && clock.monotonic() - askedMs < receiver.limits.remembersMs;
  }

  /** True: its receiver may count again what it got then, or it is not known when that was. */
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
      const judged = judgeEntry(entry, by, nowMs);
      const entryId = Number(entry.entryId);
      if (judged === null) left.push(entryId);
      else if ('event' in judged) events.push({ entryId, event: judged.event });
      else exceptions.push(judged.exception);
    }
    return { events, exceptions, left, held: exceptions.filter(({ state }) => state === 'held').length };
  }

  /** One outcome for each event, also for those that were not sent because one before them has to wait. */
  async #send(events: readonly UsageEvent[], receiver: Receiver, signal: AbortSignal): Promise<Outcome[]> {
    const outcomes: Outcome[] = events.map((event) => this.#known(event) ?? UNSENT);
    const open = [...events.keys()].filter((at) => outcomes[at] === UNSENT);
    let next = 0;
    let stopped = false;
    const lane = async (): Promise<void> => {
      while (!stopped && next < open.length && !signal.aborted) {
        const call = open.slice(next, next + receiver.limits.eventsPerCall);
        next += call.length;
        await this.#pace(signal).catch(() => undefined);
        if (signal.aborted) return;
        const sent = call.map((at) => events[at] as UsageEvent);
        const answers = await receiver.send(sent, signal);
        for (const [index, at] of call.entries()) outcomes[at] = answers[index] ?? UNKNOWN;
        stopped ||= answers.some(isUndecided);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    return outcomes;
  }

  #known(event: UsageEvent): Outcome | null {
    const verdict = this.#verdicts?.of(event) ?? 'absent';
    if (verdict === 'absent') return null;
    return verdict === 'there' ? { is: 'taken' } : { is: 'refused', answer: verdict.unclear };
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
    const refusal = outcomes.find((outcome) => outcome.is === 'unauthorised');
    const waiting = outcomes.find((outcome) => outcome.is === 'again' && outcome !== UNSENT);
    const pause: { paused: Pause; reason: string } | null =
      refusal === undefined
        ? null
        : { paused: 'unauthorised', reason: `it refuses the credentials: ${refusal.answer}` };
    const nowMs = this.#deps.clock.now();
    await (await this.#deps.writer()).advanceOutlet({ name, cursor, ...what, pause, nowMs });
    return {
      taken: outcomes.filter(({ is }) => is === 'taken').length,
      more: pause === null && !outcomes.some(isUndecided),
      fault: waiting?.is === 'again' ? { answer: waiting.answer, afterMs: waiting.afterMs } : null,
      paused: pause?.reason ?? null,
    };
  }

  async #pauseUncertain({ name, flightSince }: OutletRow, flightTo: number): Promise<StepReport> {
    const reason = `entries up to ${flightTo} were perhaps sent at ${flightSince}, which is longer ago than the receiver remembers, and it cannot be asked`;
    const writer = await this.#deps.writer();
    await writer.pauseOutlet({ name, paused: 'uncertain', reason, nowMs: this.#deps.clock.now() });
    return { ...NOTHING_SENT_YET, paused: reason };
  }
}

const UNSENT: Outcome = { is: 'again', answer: 'not sent yet', certain: true, afterMs: null };
const UNKNOWN: Outcome = { is: 'again', answer: 'its type said nothing of it', certain: false, afterMs: null };

function isUndecided(outcome: Outcome | undefined): boolean {
  return outcome === undefined || outcome.is === 'again' || outcome.is === 'unauthorised';
}

/** Certainly not taken. */
function isCertain(outcome: Outcome | undefined): boolean {
  return outcome?.is === 'unauthorised' || (outcome?.is === 'again' && outcome.certain) || outcome?.is === 'refused';
}

function exceptionOf(entryId: number, outcome: Outcome | undefined): OutletException[] {
  return outcome?.is === 'refused' || outcome?.is === 'late'
    ? [{ entryId, state: outcome.is, reason: outcome.answer }]
    : [];
}
