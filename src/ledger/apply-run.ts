import type Database from 'better-sqlite3';
import { isoTime } from '../core/clock.ts';
import { appendWithdrawals, hasAbsences, noteAbsences } from './absences.ts';
import { bookAdjustments } from './adjustments.ts';
import { type ClaimedRun, holdsLease, releaseLease } from './claim-run.ts';
import { digestOfRun, headOfChain } from './digest.ts';
import { FencedError } from './errors.ts';
import { ENTRY_KINDS } from './keys.ts';
import type { RunStaging, WalkFacts } from './staging.ts';
import { refuseTooLarge } from './too-large.ts';
import { recordWalk, type WalkRecord } from './walks.ts';

type Connection = Database.Database;

/** What a run changed, as counts of entries by kind. */
export interface EntryCounts {
  opened: number;
  increased: number;
  decreased: number;
  withdrawn: number;
  restored: number;
}

export interface ApplyResult<Extra> {
  runId: string;
  entries: number;
  counts: EntryCounts;
  /** Position in the chain and the digest of the run: the ledger's new head. */
  appliedSeq: number;
  digest: string;
  extra: Extra;
}

/** What the hook that runs inside the transaction, after the merge, may rely on. */
export interface MergedRun {
  connection: Connection;
  run: ClaimedRun;
  /** Entries of this run have ids above this. */
  lastEntryIdBefore: number;
  /** What the entries of this run are, and which periods they are of. */
  counts: EntryCounts;
  changedPeriods: ReadonlySet<number>;
  appliedAt: string;
  nowMs: number;
}

export interface ApplyRequest<Extra> {
  run: ClaimedRun;
  staging: RunStaging;
  facts: WalkFacts;
  walk: Omit<WalkRecord, 'facts'>;
  /** Keys that two runs and the tenant's own history agree are gone. */
  withdrawals: readonly { periodKey: number; tenantKey: number }[];
  nowMs: number;
  /** Runs inside the transaction once the new state stands: alert rules and their outbox rows. */
  afterMerge: (merged: MergedRun) => Extra;
}

/**
 * Publishes a proven run in one transaction: new tenants and periods, entries, state, the walk's certificate, the
 * run's digest and whatever `afterMerge` writes. Anybody who reads sees the ledger before it or after it.
 * Throws `FencedError`, and changes nothing, when another run has taken the workspace since.
 */
export function applyRun<Extra>(connection: Connection, request: ApplyRequest<Extra>): ApplyResult<Extra> {
  return connection.transaction(() => merge(connection, request)).immediate();
}

function merge<Extra>(connection: Connection, request: ApplyRequest<Extra>): ApplyResult<Extra> {
  const { run, staging, facts, nowMs } = request;
  if (!holdsLease(connection, run)) {
    throw new FencedError(`another run has taken workspace ${JSON.stringify(run.workspaceId)}; ${run.runId} ends here`);
  }
  const appliedAt = isoTime(nowMs);
  const shift = addTenants(connection, run, staging);
  const { keys, tenantBase } = staging;
  const keySetDigest = shift > 0 ? keys.shifted(tenantBase, shift).digest() : facts.keySetDigest;
  const lastEntryIdBefore = Number(
    connection.prepare('SELECT coalesce(max(entry_id), 0) FROM usage_entries').pluck().get(),
  );
  const shownBefore = figuresShown(connection, run);
  addPeriods(connection, run, staging);
  const { counts, changedPeriods, sameKeys } = mergeStaged(connection, {
    run,
    staging,
    shift,
    lastEntryIdBefore,
    shownBefore,
  });
  const changed = counts.opened + counts.increased + counts.decreased + counts.restored;
  const withdrawn = appendWithdrawals(connection, run, request.withdrawals);
  if (withdrawn > 0) updateState(connection, lastEntryIdBefore + changed, false);
  counts.withdrawn = withdrawn;
  const entries = changed + withdrawn;
  for (const { periodKey } of request.withdrawals) changedPeriods.add(periodKey);
  noteAbsences(connection, { run, keys, knownTenants: tenantBase, sameKeys });
  // The walk's largest figure bounds the sums of what it showed; keys that it missed still count.
  if (staging.sumsMayOverflow || hasAbsences(connection, run)) refuseOverflow(connection, run);
  bookAdjustments(connection, { ...run, lastEntryIdBefore, nowMs });
  recordWalk(connection, run.runKey, { ...request.walk, facts: { ...facts, keySetDigest } });
  const head = headOfChain(connection);
  const appliedSeq = head.seq + 1;
  const firstEntryId = entries > 0 ? lastEntryIdBefore + 1 : null;
  const digest = digestOfRun(connection, {
    runKey: run.runKey,
    previousDigest: head.digest,
    appliedSeq,
    runId: run.runId,
    workspaceId: run.workspaceId,
    finishedAt: appliedAt,
    firstEntryId,
    entries,
  });
  const extra = request.afterMerge({ connection, run, lastEntryIdBefore, counts, changedPeriods, appliedAt, nowMs });
  connection
    .prepare('UPDATE workspaces SET first_run_key = coalesce(first_run_key, ?) WHERE workspace_key = ?')
    .run(run.runKey, run.workspaceKey);
  connection
    .prepare(
      `UPDATE runs SET status = 'applied', finished_at = ?, pages = ?, records = ?, entries = ?, first_entry_id = ?,
         from_period = coalesce(from_period, (SELECT min(period) FROM periods WHERE covered_run_key = runs.run_key)),
         to_period = coalesce(to_period, (SELECT max(period) FROM periods WHERE covered_run_key = runs.run_key)),
         applied_seq = ?, previous_digest = ?, digest = ?
       WHERE run_key = ?`,
    )
    .run(appliedAt, facts.pages, facts.records, entries, firstEntryId, appliedSeq, head.digest, digest, run.runKey);
  releaseLease(connection, run);
  return { runId: run.runId, entries, counts, appliedSeq, digest, extra };
}

/**
 * Makes the tenants met on the walk real. Another process may have added tenants since the numbers were given out:
 * returns by how much the new ones move up.
 */
function addTenants(connection: Connection, run: ClaimedRun, staging: RunStaging): number {
  if (staging.newTenants.length === 0) return 0;
  const highest = Number(connection.prepare('SELECT coalesce(max(tenant_key), 0) FROM tenants').pluck().get());
  const shift = highest - staging.tenantBase;
  const insertOf = (rows: number): Database.Statement => {
    const places = Array.from({ length: rows }, () => '(?, ?, ?)').join(', ');
    return connection.prepare(`INSERT INTO tenants (tenant_key, workspace_key, tenant_id) VALUES ${places}`);
  };
  const full = insertOf(ROWS_A_STATEMENT);
  for (let at = 0; at < staging.newTenants.length; at += ROWS_A_STATEMENT) {
    const ids = staging.newTenants.slice(at, at + ROWS_A_STATEMENT);
    const values = ids.flatMap((tenantId, offset) => [highest + 1 + at + offset, run.workspaceKey, tenantId]);
    (ids.length === ROWS_A_STATEMENT ? full : insertOf(ids.length)).run(values);
  }
  return shift;
}

/** Makes the periods met on the walk real, and marks every period of the window as covered, shown or not. */
function addPeriods(connection: Connection, run: ClaimedRun, staging: RunStaging): void {
  const insert = connection.prepare(
    `INSERT INTO periods (period_key, workspace_key, period, period_start, period_end) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (period_key) DO UPDATE SET period_start = excluded.period_start, period_end = excluded.period_end
     WHERE period_start <> excluded.period_start OR period_end <> excluded.period_end`,
  );
  for (const { periodKey, period, periodStart, periodEnd } of staging.periods) {
    insert.run(periodKey, run.workspaceKey, period, periodStart, periodEnd);
  }
  connection
    .prepare(
      `UPDATE periods SET covered_run_key = ?, figures_digest = NULL
       WHERE workspace_key = ? AND period >= ? AND period <= ?`,
    )
    .run(run.runKey, run.workspaceKey, run.window.from ?? '', run.window.to ?? '9999-99');
}

/** The digests of the figures that earlier runs have shown of each period. */
function figuresShown(connection: Connection, run: ClaimedRun): Map<number, Buffer> {
  const rows = connection
    .prepare('SELECT period_key, figures_digest FROM periods WHERE workspace_key = ? AND figures_digest IS NOT NULL')
    .raw()
    .all(run.workspaceKey) as [number, Buffer][];
  return new Map(rows);
}

/** Records that one statement compares with the ledger. */
const ROWS_A_STATEMENT = 100;

interface Merge {
  run: ClaimedRun;
  staging: RunStaging;
  /** By how much the numbers of new tenants have moved up. */
  shift: number;
  lastEntryIdBefore: number;
  /** What the last run that covered each period has shown, by period. */
  shownBefore: ReadonlyMap<number, Buffer>;
}

interface Merged {
  counts: EntryCounts;
  /** The periods that have entries. */
  changedPeriods: Set<number>;
  /** The periods that have the very keys of the walk: none is missing, and none has come back. */
  sameKeys: ReadonlySet<number>;
}

/**
 * Appends an entry for each staged record that is new or differs, in the order of the ledger's keys, and brings the state
 * up to it; returns how many entries there are of each kind. One period at a time: SQLite keeps what a statement has
 * changed in memory until it ends.
 */
function mergeStaged(connection: Connection, merge: Merge): Merged {
  const { run, staging, shift, lastEntryIdBefore, shownBefore } = merge;
  const full = {
    compare: prepareAppend(connection, ROWS_A_STATEMENT),
    open: prepareOpen(connection, ROWS_A_STATEMENT),
  };
  const remember = connection.prepare('UPDATE periods SET figures_digest = ? WHERE period_key = ?');
  const held = connection.prepare('SELECT 1 FROM tenant_usage WHERE period_key = ? LIMIT 1').pluck();
  const counts: EntryCounts = { opened: 0, increased: 0, decreased: 0, withdrawn: 0, restored: 0 };
  const changedPeriods = new Set<number>();
  const sameKeys = new Set<number>();
  let entries = 0;
  for (const { periodKey } of staging.periods.sort((a, b) => a.periodKey - b.periodKey)) {
    const figures = staging.figuresOf(periodKey).inOrder();
    const digest = shift === 0 ? figures.digest() : null;
    remember.run(digest, periodKey);
    // The state has held these very figures since the last run that covered the period: no need to compare them.
    const isSame = digest !== null && shownBefore.get(periodKey)?.equals(digest) === true;
    const isNew = !isSame && held.get(periodKey) === undefined;
    if (isSame || isNew) sameKeys.add(periodKey);
    if (isSame) continue;
    const entriesBefore = entries;
    // Where the ledger holds nothing yet there is nothing to compare with: a first run is spared a million look-ups.
    const prepare = isNew ? prepareOpen : prepareAppend;
    const append = (statement: Database.Statement, rows: (number | bigint)[]): void => {
      const values = isNew ? [run.runKey, periodKey, ...rows] : [...rows, run.runKey, periodKey, periodKey];
      entries += statement.run(values).changes;
    };
    let values: (number | bigint)[] = [];
    figures.forEach((tenantKey, credits, requests) => {
      values.push(tenantKey > staging.tenantBase ? tenantKey + shift : tenantKey, credits, requests);
      if (values.length < ROWS_A_STATEMENT * 3) return;
      append(isNew ? full.open : full.compare, values);
      values = [];
    });
    if (values.length > 0) append(prepare(connection, values.length / 3), values);
    if (entries === entriesBefore) continue;
    changedPeriods.add(periodKey);
    updateState(connection, lastEntryIdBefore + entriesBefore, isNew);
    if (isNew) counts.opened += entries - entriesBefore;
    else countEntries(connection, lastEntryIdBefore + entriesBefore, counts);
  }
  return { counts, changedPeriods, sameKeys };
}

/** Appends records of a period that the ledger does not hold yet. */
function prepareOpen(connection: Connection, rows: number): Database.Statement {
  const places = Array.from({ length: rows }, () => '(?, ?, ?)').join(', ');
  return connection.prepare(
    `INSERT INTO usage_entries
       (run_key, period_key, tenant_key, kind, credits_delta, requests_delta, credits_after, requests_after)
     SELECT ?, ?, column1, ${ENTRY_KINDS.opened}, column2, column3, column2, column3
     FROM (VALUES ${places})`,
  );
}

/** Numbers are bound as doubles; what is subtracted from a 64-bit integer must be one itself, hence the casts. */
function prepareAppend(connection: Connection, rows: number): Database.Statement {
  const { opened, increased, decreased, restored } = ENTRY_KINDS;
  const places = Array.from({ length: rows }, () => '(?, ?, ?)').join(', ');
  return connection.prepare(
    `WITH s (tenant_key, credits, requests) AS (
       SELECT CAST(column1 AS INTEGER), CAST(column2 AS INTEGER), CAST(column3 AS INTEGER) FROM (VALUES ${places}))
     INSERT INTO usage_entries
       (run_key, period_key, tenant_key, kind, credits_delta, requests_delta, credits_after, requests_after)
     SELECT ?, ?, s.tenant_key,
       CASE WHEN u.period_key IS NULL THEN ${opened} WHEN u.withdrawn = 1 THEN ${restored}
         WHEN s.credits > u.credits_used OR (s.credits = u.credits_used AND s.requests > u.request_count)
           THEN ${increased}
         ELSE ${decreased} END,
       s.credits - coalesce(u.credits_used, 0), s.requests - coalesce(u.request_count, 0), s.credits, s.requests
     FROM s LEFT JOIN tenant_usage u ON u.period_key = ? AND u.tenant_key = s.tenant_key
     WHERE u.period_key IS NULL OR u.withdrawn = 1 OR u.credits_used <> s.credits OR u.request_count <> s.requests`,
  );
}

/** Brings the state up to the entries after this one; `isNew` when it holds none of their keys yet. */
export function updateState(connection: Connection, lastEntryIdBefore: number, isNew: boolean): void {
  const upsert = `ON CONFLICT (period_key, tenant_key) DO UPDATE SET credits_used = excluded.credits_used,
    request_count = excluded.request_count, withdrawn = excluded.withdrawn, changed_run_key = excluded.changed_run_key`;
  connection
    .prepare(
      `INSERT INTO tenant_usage
         (period_key, tenant_key, credits_used, request_count, withdrawn, first_run_key, changed_run_key)
       SELECT period_key, tenant_key, credits_after, requests_after, kind = ${ENTRY_KINDS.withdrawn}, run_key, run_key
       FROM usage_entries WHERE entry_id > ? ${isNew ? '' : upsert}`,
    )
    .run(lastEntryIdBefore);
}

/** A total that does not fit into 64 bits would make every query of that period fail: the run is refused instead. */
function refuseOverflow(connection: Connection, run: ClaimedRun): void {
  const periods = connection
    .prepare('SELECT period_key AS periodKey, period FROM periods WHERE workspace_key = ? AND covered_run_key = ?')
    .all(run.workspaceKey, run.runKey) as { periodKey: number; period: string }[];
  const totals = connection.prepare(
    'SELECT sum(credits_used), sum(request_count) FROM tenant_usage WHERE period_key = ?',
  );
  for (const { periodKey, period } of periods) {
    refuseTooLarge(`the figures of ${period}`, () => totals.get(periodKey));
  }
}

/** Adds up the entries after this one by kind. */
export function countEntries(connection: Connection, lastEntryIdBefore: number, counts: EntryCounts): void {
  const sums = Object.entries(ENTRY_KINDS).map(([name, kind]) => `coalesce(sum(kind = ${kind}), 0) AS ${name}`);
  const more = connection
    .prepare(`SELECT ${sums.join(', ')} FROM usage_entries WHERE entry_id > ?`)
    .get(lastEntryIdBefore) as EntryCounts;
  for (const kind of Object.keys(ENTRY_KINDS) as (keyof EntryCounts)[]) counts[kind] += more[kind];
}
