import type Database from 'better-sqlite3';
import { isoTime } from '../../../core/clock.ts';
import { periodBounds } from '../../../core/period.ts';
import { collectGarbage } from '../../../core/process/memory.ts';
import { FencedError } from '../../store/file/sqlite-errors.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import {
  and,
  eq,
  gte,
  isNotNull,
  lte,
  max,
  min,
  ne,
  perConnection,
  prepared,
  query,
  sql,
} from '../../store/schema/drizzle.ts';
import { windowBounds } from '../../store/schema/keys.ts';
import { runs, usageEntries } from '../../store/schema/run-tables.ts';
import { periods, tenants, workspaces } from '../../store/schema/workspace-tables.ts';
import { highest } from '../../store/subjects.ts';
import { bookAdjustments } from '../close/adjustments.ts';
import type { RunStaging, WalkFacts } from '../staging/staging.ts';
import { type AbsentKey, appendWithdrawals, hasAbsences, requeueAbsent, updateAbsences } from './absences.ts';
import { type ClaimedRun, holdsLease, releaseLease } from './claim-run.ts';
import { changesToCover, digestOfRun, headOfChain, type RunDigestContent } from './digest.ts';
import { recordWalk, type WalkRecord } from './fail-run.ts';
import { storeListing } from './known-listing.ts';
import { type EntryCounts, type EntryRange, mergeStaged, updateState } from './merge-staged.ts';
import { refuseTooLarge } from './sum-limits.ts';

/** Number of tenants that one statement adds. */
const TENANTS_PER_STATEMENT = 100;
/** From this number of keys, garbage is collected before the merge, because the ids of the walk take tens of MB. */
const MIN_KEYS_FOR_COLLECTION = 1_000_000;

export interface ApplyResult<Extra> {
  runId: string;
  entries: number;
  counts: EntryCounts;
  /** Position in the chain and digest of the run: the ledger's new head. */
  appliedSeq: number;
  digest: string;
  extra: Extra;
}

/** The merged run, as it is passed to `afterMerge` inside the transaction. */
export interface MergedRun {
  connection: LedgerDb;
  run: ClaimedRun;
  /** The id of the last entry before this run. All entries of this run have higher ids. */
  lastEntryIdBefore: number;
  /**
   * Counts of this run's entries, and the id range of each period's entries; the ranges may include entries of other
   * periods.
   */
  counts: EntryCounts;
  changed: ReadonlyMap<number, EntryRange>;
  appliedAt: string;
  nowMs: number;
}

export interface ApplyRequest<Extra> {
  run: ClaimedRun;
  staging: RunStaging;
  facts: WalkFacts;
  walk: Omit<WalkRecord, 'facts'>;
  /** Keys to withdraw: two runs did not list them, and the history of the key's tenant does not contain them. */
  withdrawals: readonly { periodKey: number; tenantKey: number }[];
  /** Absent keys that are not withdrawn, because the tenant's history still contains them or could not be read. */
  unconfirmed?: readonly AbsentKey[];
  nowMs: number;
  /** Runs inside the transaction after the merge: evaluates alert rules and queues notifications. */
  afterMerge: (merged: MergedRun) => Extra;
}

/**
 * Applies a verified run in one transaction: new tenants and periods, entries, state, the certificate (the record of
 * the walk that verified the run), the run's digest and the changes by `afterMerge`. Readers see the ledger as it was
 * before the run or as it is after the run, never between. Throws `FencedError` and changes nothing when another run
 * has taken the workspace meanwhile.
 */
export function applyRun<Extra>(connection: LedgerDb, request: ApplyRequest<Extra>): ApplyResult<Extra> {
  return connection.transaction(() => merge(connection, request)).immediate();
}

type AppliedFigures = Pick<MergedRun, 'lastEntryIdBefore' | 'counts' | 'changed'> & { entries: number };

/** Merges the run into entries, state, absences and adjustments, and records the walk's certificate. */
function mergeFigures(connection: LedgerDb, request: ApplyRequest<unknown>): AppliedFigures {
  const { run, staging, facts, nowMs } = request;
  if (facts.unchanged) return confirmFigures(connection, request);
  const shift = insertTenants(connection, run, staging);
  const { keys, tenantBase } = staging;
  const keySetDigest = shift > 0 ? keys.shifted(tenantBase, shift).digest() : facts.keySetDigest;
  const lastEntryIdBefore = highest(connection, usageEntries.entryId);
  const shownBefore = figuresShown(connection, run);
  addMissingPeriods(connection, run, staging);
  const { counts, changed, sameKeys, complete } = mergeStaged(connection, {
    run,
    staging,
    shift,
    lastEntryIdBefore,
    shownBefore,
  });
  const lastMerged = lastEntryIdBefore + counts.opened + counts.increased + counts.decreased + counts.restored;
  const withdrawn = appendWithdrawals(connection, run, request.withdrawals);
  counts.withdrawn = withdrawn;
  const last = lastMerged + withdrawn;
  updateState(connection, { after: lastMerged, last }, false);
  for (const { periodKey } of request.withdrawals) {
    changed.set(periodKey, { after: changed.get(periodKey)?.after ?? lastMerged, last });
  }
  updateAbsences(connection, { run, keys, knownTenants: tenantBase, sameKeys, complete });
  requeueAbsent(connection, run, request.unconfirmed ?? []);
  // Sums can exceed 64 bits if the walk has large figures. The figures of keys that the walk missed are still part of
  // the sums and may be large, too.
  if (staging.sumsMayOverflow || hasAbsences(connection, run)) refuseOverflow(connection, run);
  bookAdjustments(connection, { lastEntryIdBefore, changedPeriods: changed.keys(), nowMs });
  recordWalk(connection, run.runKey, { ...request.walk, facts: { ...facts, keySetDigest } });
  storeListing(connection, run, staging.pageDigests);
  return { lastEntryIdBefore, counts, changed, entries: last - lastEntryIdBefore };
}

/** Applies a walk without changes: marks its periods as covered by this run and records the walk's certificate. */
function confirmFigures(connection: LedgerDb, { run, facts, walk }: ApplyRequest<unknown>): AppliedFigures {
  coverPeriods(connection, { ...run, keepsFigures: true });
  recordWalk(connection, run.runKey, { ...walk, facts });
  const counts: EntryCounts = { opened: 0, increased: 0, decreased: 0, withdrawn: 0, restored: 0 };
  return { lastEntryIdBefore: highest(connection, usageEntries.entryId), counts, changed: new Map(), entries: 0 };
}

function merge<Extra>(connection: LedgerDb, request: ApplyRequest<Extra>): ApplyResult<Extra> {
  const { run, facts, nowMs } = request;
  if (!holdsLease(connection, run)) {
    throw new FencedError(
      `another run has taken workspace ${JSON.stringify(run.workspaceId)}; ${run.runId} was not applied`,
    );
  }
  const { entries, ...merged } = mergeFigures(connection, request);
  const { lastEntryIdBefore, counts } = merged;
  const appliedAt = isoTime(nowMs);
  const head = headOfChain(connection);
  const appliedSeq = head.seq + 1;
  const firstEntryId = entries > 0 ? lastEntryIdBefore + 1 : null;
  const row = readRunRow(connection, run);
  const extra = request.afterMerge({ connection, run, ...merged, appliedAt, nowMs });
  // The row changes are read after `afterMerge`, so that the run's digest covers the changes that alert rules made.
  const changes = changesToCover(connection);
  const digest = digestOfRun(connection, {
    ...row,
    ...changes,
    runKey: run.runKey,
    previousDigest: head.digest,
    appliedSeq,
    runId: run.runId,
    workspaceId: run.workspaceId,
    finishedAt: appliedAt,
    firstEntryId,
    entries,
  });
  const db = query(connection);
  db.update(workspaces)
    .set({ firstRunKey: sql`coalesce(${workspaces.firstRunKey}, ${run.runKey})` })
    .where(eq(workspaces.workspaceKey, run.workspaceKey))
    .run();
  const { fromPeriod, toPeriod } = row;
  const { pages, records } = facts;
  db.update(runs)
    .set({
      status: 'applied',
      finishedAt: appliedAt,
      fromPeriod,
      toPeriod,
      pages,
      records,
      entries,
      firstEntryId,
      appliedSeq,
      previousDigest: head.digest,
      digest,
      lastChangeSeq: changes.lastChangeSeq,
    })
    .where(eq(runs.runKey, run.runKey))
    .run();
  releaseLease(connection, run);
  return { runId: run.runId, entries, counts, appliedSeq, digest, extra };
}

/** Reads the run's row. A window without a first or last period gets the first or last period that the run covered. */
function readRunRow(
  connection: LedgerDb,
  run: ClaimedRun,
): Pick<RunDigestContent, 'kind' | 'slot' | 'fromPeriod' | 'toPeriod' | 'fencingToken'> {
  const db = query(connection);
  const row = db.select().from(runs).where(eq(runs.runKey, run.runKey)).get();
  if (row === undefined) throw new Error(`the ledger has no run ${run.runId}`);
  const { kind, slot, fencingToken, fromPeriod, toPeriod } = row;
  const bounds = { first: min(periods.period), last: max(periods.period) };
  const isCovered = and(eq(periods.workspaceKey, run.workspaceKey), eq(periods.coveredRunKey, run.runKey));
  const covered = db.select(bounds).from(periods).where(isCovered).get();
  const window = { fromPeriod: fromPeriod ?? covered?.first ?? null, toPeriod: toPeriod ?? covered?.last ?? null };
  return { kind, slot, fencingToken, ...window };
}

/**
 * Inserts the new tenants of the walk. If another process has added tenants since staging assigned numbers to the new
 * ones, these numbers are increased. Returns the increase.
 */
function insertTenants(connection: LedgerDb, run: ClaimedRun, staging: RunStaging): number {
  const lastKey = highest(connection, tenants.tenantKey);
  const shift = lastKey - staging.tenantBase;
  let tenantKey = lastKey;
  let values: (number | string)[] = [];
  const newTenants = staging.takeNewTenants();
  if (staging.keys.size >= MIN_KEYS_FOR_COLLECTION) collectGarbage();
  for (const tenantId of newTenants) {
    tenantKey += 1;
    values.push(tenantKey, run.workspaceKey, tenantId);
    if (values.length < TENANTS_PER_STATEMENT * 3) continue;
    insertFull(connection).run(values);
    values = [];
  }
  if (values.length > 0) prepareInsert(connection, values.length / 3).run(values);
  return tenantKey === lastKey ? 0 : shift;
}

function prepareInsert(connection: LedgerDb, rows: number): Database.Statement {
  const places = Array.from({ length: rows }, () => '(?, ?, ?)').join(', ');
  return connection.prepare(`INSERT INTO tenants (tenant_key, workspace_key, tenant_id) VALUES ${places}`);
}

const insertFull = perConnection((connection) => prepareInsert(connection, TENANTS_PER_STATEMENT));

/**
 * Inserts the new periods of the walk and marks every known period of the window as covered, even if the walk has no
 * record in it.
 */
function addMissingPeriods(connection: LedgerDb, run: ClaimedRun, staging: RunStaging): void {
  const { workspaceKey } = run;
  const db = query(connection);
  const met = staging.periods.map(({ periodKey, period }) => {
    const { start: periodStart, end: periodEnd } = periodBounds(period);
    return { periodKey, workspaceKey, period, periodStart, periodEnd };
  });
  const set = { periodStart: sql`excluded.period_start`, periodEnd: sql`excluded.period_end` };
  const setWhere = sql`${ne(periods.periodStart, set.periodStart)} OR ${ne(periods.periodEnd, set.periodEnd)}`;
  if (met.length > 0)
    db.insert(periods).values(met).onConflictDoUpdate({ target: periods.periodKey, set, setWhere }).run();
  coverPeriods(connection, run);
}

const coverBetween = prepared((db) => {
  const isBetween = and(gte(periods.period, sql.placeholder('from')), lte(periods.period, sql.placeholder('to')));
  return db
    .update(periods)
    .set({
      coveredRunKey: sql`${sql.placeholder('runKey')}`,
      figuresDigest: sql`iif(${sql.placeholder('keepsFigures')}, ${periods.figuresDigest}, NULL)`,
    })
    .where(and(eq(periods.workspaceKey, sql.placeholder('workspaceKey')), isBetween));
});

const shownPeriods = prepared((db) => {
  const { periodKey, figuresDigest } = periods;
  const isShown = and(eq(periods.workspaceKey, sql.placeholder('workspaceKey')), isNotNull(figuresDigest));
  return db.select({ periodKey, figuresDigest }).from(periods).where(isShown);
});

const coveredPeriods = prepared((db) => {
  const isOwn = eq(periods.workspaceKey, sql.placeholder('workspaceKey'));
  return db
    .select()
    .from(periods)
    .where(and(isOwn, eq(periods.coveredRunKey, sql.placeholder('runKey'))));
});

/**
 * Marks the periods of a window as covered by a run. `keepsFigures`: true if the run read the same figures as the
 * previous run, so that the stored digests of the figures stay valid.
 */
export function coverPeriods(
  connection: LedgerDb,
  {
    workspaceKey,
    runKey,
    window,
    keepsFigures = false,
  }: Pick<ClaimedRun, 'workspaceKey' | 'runKey' | 'window'> & { keepsFigures?: boolean },
): void {
  const [from, to] = windowBounds(window);
  coverBetween(connection).run({ workspaceKey, runKey, keepsFigures: keepsFigures ? 1 : 0, from, to });
}

/** Returns, by period key, the digests of the figures that the last run read. */
function figuresShown(connection: LedgerDb, run: ClaimedRun): Map<number, Buffer> {
  const shown = shownPeriods(connection).all({ workspaceKey: run.workspaceKey });
  return new Map(shown.map((period) => [period.periodKey, period.figuresDigest as Buffer]));
}

/** Throws when the total of a period does not fit into 64 bits: every query of that period would fail. */
function refuseOverflow(connection: LedgerDb, { workspaceKey, runKey }: ClaimedRun): void {
  const totals = connection.prepare(
    'SELECT sum(credits_used), sum(request_count) FROM tenant_usage WHERE period_key = ?',
  );
  for (const { periodKey, period } of coveredPeriods(connection).all({ workspaceKey, runKey })) {
    refuseTooLarge(`the figures of ${period}`, totals, periodKey);
  }
}
