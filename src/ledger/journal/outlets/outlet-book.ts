import { isoTime } from '../../../core/clock.ts';
import { AppError } from '../../../core/errors.ts';
import type { Period } from '../../../core/period.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { and, asc, eq, inArray, query, sql } from '../../store/schema/drizzle.ts';
import { outletEvents, outlets } from '../../store/schema/outlet-tables.ts';
import { whereClause } from '../../store/where.ts';
import { lastEntryId } from './read-entries.ts';

export type OutletRow = typeof outlets.$inferSelect;
export type OutletPause = NonNullable<OutletRow['paused']>;
export type OutletEventState = (typeof outletEvents.$inferSelect)['state'];

/** An exception: an entry that an outlet does not send now, with the reason. */
export interface OutletException {
  entryId: number;
  state: Exclude<OutletEventState, 'settled'>;
  reason: string;
  /** The time at which the entry may have been sent nevertheless; absent when it was certainly not sent. */
  postedAt?: string | null;
}

/** Lists the outlets that have been started. */
export function readOutlets(connection: LedgerDb): OutletRow[] {
  return query(connection).select().from(outlets).orderBy(asc(outlets.name)).all();
}

export function readOutlet(connection: LedgerDb, name: string): OutletRow | undefined {
  return query(connection).select().from(outlets).where(eq(outlets.name, name)).get();
}

export interface StartOutletRequest {
  name: string;
  receiver: string;
  workspaces: readonly string[] | null;
  fromPeriod: Period;
  by: string;
  nowMs: number;
}

/**
 * Starts an outlet, which then sends every entry of the month `fromPeriod` and later months. If the outlet was started
 * before with other workspaces or another month, entries up to its cursor that were not included then become held
 * exceptions, so that they are sent, too.
 */
export function startOutlet(connection: LedgerDb, request: StartOutletRequest): void {
  const { name, receiver, fromPeriod, by, nowMs } = request;
  const workspaces = request.workspaces && JSON.stringify(request.workspaces);
  const at = isoTime(nowMs);
  connection
    .transaction(() => {
      const before = readOutlet(connection, name);
      const scope = { receiver, workspaces, fromPeriod, begunAt: at, begunBy: by, changedAt: at };
      if (before === undefined) {
        query(connection)
          .insert(outlets)
          .values({ name, cursor: 0, ...scope })
          .run();
        return;
      }
      const isIn = (of: string, from: string): string =>
        `(p.period >= ${from} AND (${of} IS NULL OR w.workspace_id IN (SELECT value FROM json_each(${of}))))`;
      connection
        .prepare(
          `INSERT INTO outlet_events (outlet, entry_id, state, reason, since)
           SELECT @name, e.entry_id, 'held', 'added to this outlet later', @at FROM usage_entries e
           JOIN periods p ON p.period_key = e.period_key JOIN workspaces w ON w.workspace_key = p.workspace_key
           WHERE e.entry_id <= @cursor AND ${isIn('@workspaces', '@from')} AND NOT ${isIn('@oldWorkspaces', '@oldFrom')}
           ON CONFLICT DO NOTHING`,
        )
        .run({
          name,
          at,
          cursor: before.cursor,
          workspaces,
          from: fromPeriod,
          oldWorkspaces: before.workspaces,
          oldFrom: before.fromPeriod,
        });
      query(connection).update(outlets).set(scope).where(eq(outlets.name, name)).run();
    })
    .immediate();
}

export interface InFlightRequest {
  name: string;
  /** The cursor that the sender read before it sent anything. */
  cursor: number;
  /** The last entry of those about to be sent; null when only held entries are sent. */
  to: number | null;
  /** The entries up to `to` that are not sent. */
  exceptions: readonly OutletException[];
  held: readonly number[];
  nowMs: number;
}

/**
 * Records that from now on the entries up to `to`, without the exceptions, and the entries in `held` may have been
 * sent. Throws AppError `outlet_moved` when another process has sent entries meanwhile, or has paused the outlet.
 */
export function markInFlight(
  connection: LedgerDb,
  { name, cursor, to, exceptions, held, nowMs }: InFlightRequest,
): void {
  const at = isoTime(nowMs);
  connection
    .transaction(() => {
      const row = requireUnmoved(connection, name, cursor);
      if (to !== null) {
        const flightTo = Math.max(to, row.flightTo ?? 0);
        const flight = { flightTo, flightSince: row.flightSince ?? at };
        query(connection).update(outlets).set(flight).where(eq(outlets.name, name)).run();
      }
      upsertExceptions(connection, name, exceptions, at);
      if (held.length === 0) return;
      const posted = { postedAt: sql`coalesce(${outletEvents.postedAt}, ${at})` };
      query(connection).update(outletEvents).set(posted).where(ofEntries(name, held)).run();
    })
    .immediate();
}

export interface AdvanceRequest {
  name: string;
  cursor: number;
  to: number;
  exceptions: readonly OutletException[];
  /** `taken`: held entries that the receiver has accepted. `unposted`: held entries that it certainly did not get. */
  taken: readonly number[];
  unposted: readonly number[];
  /** True when it is certain that no entry after the new cursor was sent. */
  landed: boolean;
  pause: { paused: OutletPause; reason: string } | null;
  nowMs: number;
}

/**
 * Records the outcome of a send in one transaction. Throws AppError `outlet_moved` in the same cases as `markInFlight`.
 */
export function advanceOutlet(connection: LedgerDb, request: AdvanceRequest): void {
  const { name, cursor, to, exceptions, taken, unposted, landed, pause, nowMs } = request;
  const at = isoTime(nowMs);
  connection
    .transaction(() => {
      const row = requireUnmoved(connection, name, cursor);
      const isOver = landed || row.flightTo === null || to >= row.flightTo;
      const flight = isOver ? { flightTo: null, flightSince: null } : {};
      const db = query(connection);
      db.update(outlets)
        .set({ cursor: to, ...flight, ...pausedBy(pause, at) })
        .where(eq(outlets.name, name))
        .run();
      upsertExceptions(connection, name, exceptions, at);
      if (taken.length > 0) db.delete(outletEvents).where(ofEntries(name, taken)).run();
      if (unposted.length > 0) db.update(outletEvents).set({ postedAt: null }).where(ofEntries(name, unposted)).run();
    })
    .immediate();
}

function upsertExceptions(
  connection: LedgerDb,
  outlet: string,
  exceptions: readonly OutletException[],
  since: string,
): void {
  const target = [outletEvents.outlet, outletEvents.entryId];
  for (const { entryId, postedAt = null, ...exception } of exceptions) {
    const set = { ...exception, since, postedAt };
    query(connection)
      .insert(outletEvents)
      .values({ outlet, entryId, ...set })
      .onConflictDoUpdate({ target, set })
      .run();
  }
}

function requireUnmoved(connection: LedgerDb, name: string, cursor: number): OutletRow {
  const row = readOutlet(connection, name);
  if (row?.cursor === cursor && row.paused === null) return row;
  throw new AppError('outlet_moved', `outlet ${name} was advanced or paused by another process`, { retryable: true });
}

function ofEntries(name: string, entryIds: readonly number[]) {
  return and(eq(outletEvents.outlet, name), inArray(outletEvents.entryId, [...entryIds]));
}

function pausedBy(pause: { paused: OutletPause; reason: string } | null, at: string) {
  return pause === null ? {} : { ...pause, changedAt: at };
}

export function pauseOutlet(
  connection: LedgerDb,
  { name, paused, reason, nowMs }: { name: string; paused: OutletPause; reason: string; nowMs: number },
): void {
  query(connection)
    .update(outlets)
    .set({ paused, reason, changedAt: isoTime(nowMs) })
    .where(eq(outlets.name, name))
    .run();
}

/**
 * The time that is recorded for held entries of a restored ledger, because it is unknown whether and when they were
 * sent. With this time, an entry is not sent again unless the receiver can be asked whether it has the entry.
 */
const UNKNOWN_AGE = isoTime(0);

/** Pauses every outlet of a restored ledger, because receivers may have entries that the backup does not contain. */
export function pauseRestored(connection: LedgerDb, nowMs: number): void {
  const reason = 'the ledger was restored from a backup: the receiver may have entries that this ledger lacks';
  for (const { name } of readOutlets(connection)) pauseOutlet(connection, { name, paused: 'restored', reason, nowMs });
  query(connection).update(outletEvents).set({ postedAt: UNKNOWN_AGE }).where(eq(outletEvents.state, 'held')).run();
}

export interface ResumeOutletRequest {
  name: string;
  /** How to treat entries that may have been sent: ask the receiver, assume that it has them, or send them again. */
  perhaps: 'ask' | 'taken' | 'resend';
  nowMs: number;
}

export function resumeOutlet(connection: LedgerDb, { name, perhaps, nowMs }: ResumeOutletRequest): void {
  connection
    .transaction(() => {
      const row = readOutlet(connection, name);
      if (row === undefined) throw new AppError('unknown_outlet', `outlet ${name} was not started`);
      const last = lastEntryId(connection);
      const to = row.paused === 'restored' ? last : (row.flightTo ?? row.cursor);
      const none = { flightTo: null, flightSince: null };
      const flight =
        perhaps === 'resend'
          ? none
          : perhaps === 'taken'
            ? { cursor: Math.max(row.cursor, to), ...none }
            : row.paused === 'restored' && to > row.cursor
              ? { flightTo: to, flightSince: UNKNOWN_AGE }
              : {};
      query(connection)
        .update(outlets)
        .set({ paused: null, reason: null, changedAt: isoTime(nowMs), ...flight })
        .where(eq(outlets.name, name))
        .run();
    })
    .immediate();
}

export interface LateRejectionsRequest {
  name: string;
  refused: readonly Omit<OutletException, 'state'>[];
  /** Time of the receiver's newest report of rejected events that was read; null when none was read. */
  untilMs: number | null;
  nowMs: number;
}

/**
 * Records the entries that a receiver rejected after it had accepted them. Existing exceptions stay unchanged. Returns
 * the number of new exceptions. The time of the last report is stored, so that a report is not applied to entries that
 * are sent again later.
 */
export function recordRejections(
  connection: LedgerDb,
  { name, refused, untilMs, nowMs }: LateRejectionsRequest,
): number {
  const since = isoTime(nowMs);
  return connection
    .transaction(() => {
      const cursor = readOutlet(connection, name)?.cursor ?? 0;
      const passed = refused.filter(({ entryId }) => entryId <= cursor);
      const rows = passed.map((one) => ({ outlet: name, state: 'refused' as const, since, ...one }));
      if (untilMs !== null) {
        const reports = { reportsUntil: isoTime(untilMs) };
        query(connection).update(outlets).set(reports).where(eq(outlets.name, name)).run();
      }
      if (rows.length === 0) return 0;
      return query(connection).insert(outletEvents).values(rows).onConflictDoNothing().run().changes;
    })
    .immediate();
}

export interface SettleEventsRequest {
  name: string;
  entryIds: readonly number[];
  /** Note of the person who settled the entries outside the program; null: the entries are to be sent again. */
  note: string | null;
  by: string;
  nowMs: number;
}

/**
 * Marks exceptions as settled. Without a note, marks them as held instead, so that they are sent again. Returns the
 * number of changed exceptions. Exceptions that are settled already stay unchanged.
 */
export function settleEvents(connection: LedgerDb, request: SettleEventsRequest): number {
  const { name, entryIds, note, by, nowMs } = request;
  const at = isoTime(nowMs);
  const set =
    note === null
      ? ({ state: 'held', reason: `released for resending by ${by}`, since: at, postedAt: null } as const)
      : ({ state: 'settled', note, settledAt: at, settledBy: by } as const);
  const update = query(connection).update(outletEvents).set(set);
  return update.where(and(ofEntries(name, entryIds), sql`${outletEvents.state} <> 'settled'`)).run().changes;
}

/**
 * Records the result of comparing an outlet with its receiver. `differences`: JSON of the differences; null: there are
 * none.
 */
export function recordComparison(
  connection: LedgerDb,
  { name, differences, nowMs }: { name: string; differences: string | null; nowMs: number },
): void {
  const set = { checkedAt: isoTime(nowMs), differences };
  query(connection).update(outlets).set(set).where(eq(outlets.name, name)).run();
}

export interface ExceptionCount {
  outlet: string;
  state: OutletEventState;
  events: number;
  credits: bigint;
  requests: bigint;
}

export function countExceptions(connection: LedgerDb): ExceptionCount[] {
  const rows = connection
    .prepare(
      `SELECT x.outlet, x.state, count(*) AS events, coalesce(sum(e.credits_delta), 0) AS credits,
         coalesce(sum(e.requests_delta), 0) AS requests
       FROM outlet_events x JOIN usage_entries e USING (entry_id) GROUP BY x.outlet, x.state ORDER BY 1, 2`,
    )
    .safeIntegers()
    .all() as (Omit<ExceptionCount, 'events'> & { events: bigint })[];
  return rows.map((row) => ({ ...row, events: Number(row.events) }));
}

export interface EventFilter {
  outlet: string;
  tenant?: string | undefined;
  period?: Period | undefined;
  state?: string | undefined;
}

/** Lists the exceptions that are not settled, as in `finance_outlet_events`. */
export function readOutletEvents(connection: LedgerDb, { outlet, tenant, period, state }: EventFilter) {
  const wanted = { outlet: outlet, tenant_id: tenant, period, state };
  const { where, values } = whereClause(wanted);
  return connection
    .prepare(
      `SELECT entry_id, state, workspace_id, tenant_id, period, CAST(credits_delta AS TEXT) AS credits_delta,
         CAST(requests_delta AS TEXT) AS requests_delta, reason, since
       FROM finance_outlet_events ${where} AND state <> 'settled' ORDER BY entry_id`,
    )
    .all(...values)
    .map((row) => {
      const found = row as Record<'state' | 'workspace_id' | 'tenant_id' | 'period' | 'reason' | 'since', string> & {
        entry_id: number;
        credits_delta: string;
        requests_delta: string;
      };
      return { ...found, credits_delta: BigInt(found.credits_delta), requests_delta: BigInt(found.requests_delta) };
    });
}
