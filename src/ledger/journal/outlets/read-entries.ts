import { nextTurn } from '../../../core/clock.ts';
import type { Period } from '../../../core/period.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { preparedSql } from '../../store/schema/drizzle.ts';

/** An entry with the fields that outlets send. */
export interface OutletEntry {
  entryId: bigint;
  periodKey: bigint;
  tenantKey: bigint;
  credits: bigint;
  requests: bigint;
  /** The time at which the run that wrote the entry was applied. `digest` is the digest of that run. */
  recordedAt: string;
  digest: string;
  workspaceId: string;
  /** 1 when the workspace of the entry is retired, else 0. */
  ended: bigint;
  tenantId: string;
  period: Period;
  externalRef: string | null;
  /** The labels of the tenant as a JSON object with text values; null: the tenant has no name. */
  labels: string | null;
  /** The time at which a held entry may have been sent; null if it was certainly not sent. */
  postedAt: string | null;
}

const ENTRY_COLUMNS = `e.entry_id AS entryId, e.period_key AS periodKey, e.tenant_key AS tenantKey, e.credits_delta AS credits,
  e.requests_delta AS requests, r.finished_at AS recordedAt, r.digest, w.workspace_id AS workspaceId,
  w.ended_seq IS NOT NULL AS ended, t.tenant_id AS tenantId, p.period, n.external_ref AS externalRef, n.labels`;
const JOIN_NAMES = `JOIN tenants t ON t.tenant_key = e.tenant_key
  LEFT JOIN tenant_names n ON n.tenant_key = e.tenant_key
    AND n.after_seq = (SELECT max(m.after_seq) FROM tenant_names m WHERE m.tenant_key = e.tenant_key)`;
/** Joins each entry with its run, period, workspace and tenant. Only an applied run has a digest. */
const JOINED = `JOIN runs r ON r.run_key = e.run_key AND r.digest IS NOT NULL
  JOIN periods p ON p.period_key = e.period_key JOIN workspaces w ON w.workspace_key = p.workspace_key ${JOIN_NAMES}`;

const behind = preparedSql(
  `SELECT ${ENTRY_COLUMNS}, NULL AS postedAt FROM usage_entries e CROSS ${JOINED}
       WHERE e.entry_id > ? AND e.entry_id <= ? ORDER BY e.entry_id LIMIT ?`,
  'safeIntegers',
);

/** Lists the entries after `cursor` up to `to`, in the order of their ids. */
export function entriesAfterCursor(
  connection: LedgerDb,
  { cursor, to, limit }: { cursor: number; to: number; limit: number },
): OutletEntry[] {
  return behind(connection).all(cursor, to, limit) as OutletEntry[];
}

const noted = preparedSql(
  'SELECT entry_id FROM outlet_events WHERE outlet = ? AND entry_id > ? AND entry_id <= ?',
  'pluck',
  'safeIntegers',
);

/** Returns the ids of the entries after the cursor, up to `to`, that are recorded as exceptions. */
export function findExceptionIds(
  connection: LedgerDb,
  { outlet, cursor, to }: { outlet: string; cursor: number; to: number },
): ReadonlySet<bigint> {
  return new Set(noted(connection).all(outlet, cursor, to) as bigint[]);
}

/** SQL condition that is true if the entry of the exception `x` is not after the outlet's cursor. */
const PASSED = 'x.entry_id <= (SELECT o.cursor FROM outlets o WHERE o.name = x.outlet)';

/**
 * Returns the first held entry of each tenant. One entry is enough, because all held entries of a tenant can be sent as
 * soon as one of them can be sent.
 */
export function firstHeldEntries(connection: LedgerDb, outlet: string): OutletEntry[] {
  const sql = `SELECT ${ENTRY_COLUMNS}, NULL AS postedAt FROM (
      SELECT min(x.entry_id) AS entry_id FROM outlet_events x JOIN usage_entries f ON f.entry_id = x.entry_id
      WHERE x.outlet = ? AND x.state = 'held' AND ${PASSED} GROUP BY f.tenant_key) h
    CROSS JOIN usage_entries e ON e.entry_id = h.entry_id ${JOINED} ORDER BY e.entry_id`;
  return connection.prepare(sql).safeIntegers().all(outlet) as OutletEntry[];
}

export function heldEntries(
  connection: LedgerDb,
  { outlet, tenantKey, limit }: { outlet: string; tenantKey: bigint; limit: number },
): OutletEntry[] {
  const sql = `SELECT ${ENTRY_COLUMNS}, x.posted_at AS postedAt FROM outlet_events x
    CROSS JOIN usage_entries e ON e.entry_id = x.entry_id AND e.tenant_key = ? ${JOINED}
    WHERE x.outlet = ? AND x.state = 'held' AND ${PASSED} ORDER BY e.entry_id LIMIT ?`;
  return connection.prepare(sql).safeIntegers().all(tenantKey, outlet, limit) as OutletEntry[];
}

/** The sums of the entries of a tenant and month that an outlet has sent. */
export interface SentSum extends Pick<OutletEntry, 'workspaceId' | 'tenantId' | 'externalRef' | 'labels'> {
  periodKey: bigint;
  tenantKey: bigint;
  credits: bigint;
  requests: bigint;
}

/** Number of tenants whose entries are summed in one turn of the event loop. */
const TENANTS_PER_STEP = 1000;

/** Sums the entries up to `upTo` by tenant, without the outlet's exceptions. `workspaces` null: all workspaces. */
export async function sumSentEntries(
  connection: LedgerDb,
  asked: { outlet: string; period: Period; upTo: number; workspaces: readonly string[] | null },
): Promise<SentSum[]> {
  const { outlet, period, upTo, workspaces } = asked;
  const periods = connection
    .prepare(
      `SELECT p.period_key, w.workspace_id FROM periods p JOIN workspaces w USING (workspace_key)
       WHERE p.period = ? ORDER BY 1`,
    )
    .raw()
    .all(period) as [number, string][];
  const sums = connection
    .prepare(
      `SELECT s.*, w.workspace_id AS workspaceId, t.tenant_id AS tenantId, n.external_ref AS externalRef, n.labels
       FROM (SELECT e.period_key AS periodKey, e.tenant_key AS tenantKey, e.tenant_key, sum(e.credits_delta) AS credits,
           sum(e.requests_delta) AS requests
         FROM usage_entries e WHERE e.period_key = ? AND e.tenant_key > ? AND e.entry_id <= ?
           AND NOT EXISTS (SELECT 1 FROM outlet_events x WHERE x.outlet = ? AND x.entry_id = e.entry_id)
         GROUP BY e.tenant_key ORDER BY e.tenant_key LIMIT ?) s
       ${JOIN_NAMES.replaceAll('e.tenant_key', 's.tenant_key')} JOIN workspaces w USING (workspace_key)`,
    )
    .safeIntegers();
  const all: SentSum[] = [];
  for (const [periodKey, workspaceId] of periods) {
    if (workspaces !== null && !workspaces.includes(workspaceId)) continue;
    for (let last: bigint | null = 0n; last !== null; ) {
      const found = sums.all(periodKey, last, upTo, outlet, TENANTS_PER_STEP) as SentSum[];
      for (const sum of found) all.push(sum);
      last = found.length < TENANTS_PER_STEP ? null : (found.at(-1)?.tenantKey ?? null);
      await nextTurn();
    }
  }
  return all;
}

/** Lists the months of the entries after `cursor` up to `to`. */
export function periodsAfterCursor(connection: LedgerDb, cursor: number, to: number): Period[] {
  return connection
    .prepare(
      `SELECT DISTINCT p.period FROM (SELECT DISTINCT period_key FROM usage_entries WHERE entry_id > ? AND entry_id <= ?)
       JOIN periods p USING (period_key) ORDER BY 1`,
    )
    .pluck()
    .all(cursor, to) as Period[];
}

const lastId = preparedSql('SELECT coalesce(max(entry_id), 0) FROM usage_entries', 'pluck');

export function lastEntryId(connection: LedgerDb): number {
  return lastId(connection).get() as number;
}
