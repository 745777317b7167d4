import type { LedgerDb } from '../../store/ledger-db.ts';
import { and, asc, eq, gte, lte, placeholders, prepared, query, sql } from '../../store/schema/drizzle.ts';
import { ENTRY_KINDS, windowBounds } from '../../store/schema/keys.ts';
import { absences, tenantUsage } from '../../store/schema/run-tables.ts';
import { periods, tenants } from '../../store/schema/workspace-tables.ts';
import type { KeySet } from '../staging/key-set.ts';
import type { ClaimedRun } from './claim-run.ts';

/** A tenant and period that the ledger has a record for, but that the service has stopped listing. */
export interface AbsentKey {
  periodKey: number;
  tenantKey: number;
  tenantId: string;
  period: string;
}

/**
 * Lists the keys that are missing from this run's verified walk and were missing from the walk of an earlier run,
 * because a withdrawal needs two such walks. Tenants whose history has not been checked for the longest time come
 * first.
 */
export function absentAgain(connection: LedgerDb, run: ClaimedRun, keys: KeySet): AbsentKey[] {
  const { periodKey, tenantKey, runKey } = absences;
  const { tenantId } = tenants;
  const { period } = periods;
  const noted = query(connection)
    .select({ periodKey, tenantKey, tenantId, period })
    .from(absences)
    .innerJoin(periods, eq(periods.periodKey, periodKey))
    .innerJoin(tenants, eq(tenants.tenantKey, tenantKey))
    .where(isInWindow(run))
    .orderBy(asc(runKey), asc(tenantId), asc(period))
    .all();
  return noted.filter((key) => !keys.has(key.periodKey, key.tenantKey));
}

function isInWindow({ workspaceKey, window }: ClaimedRun) {
  const [from, to] = windowBounds(window);
  return and(eq(periods.workspaceKey, workspaceKey), gte(periods.period, from), lte(periods.period, to));
}

export interface WalkedKeys {
  run: ClaimedRun;
  keys: KeySet;
  /** The highest tenant number at the start of the walk. */
  knownTenants: number;
  /**
   * Periods with the same keys as in the last walk, and periods that had no keys before. In these periods, no further
   * key is missing, and no missing key is listed again.
   */
  sameKeys: ReadonlySet<number>;
  /** Periods in which the walk contains every tenant of the ledger that is not withdrawn. */
  complete: ReadonlySet<number>;
}

/**
 * Updates the list of absences after this run's walk: removes the keys that the walk contains, and adds the keys that
 * are missing from a walk for the first time. Call it after the merge.
 */
export function updateAbsences(
  connection: LedgerDb,
  { run, keys, knownTenants, sameKeys, complete }: WalkedKeys,
): void {
  const db = query(connection);
  const covered = db.select().from(periods).where(isInWindow(run)).all();
  for (const { periodKey } of covered) {
    if (sameKeys.has(periodKey)) continue;
    const noted = db.select().from(absences).where(eq(absences.periodKey, periodKey)).all();
    const shown = noted.filter(({ tenantKey }) => keys.has(periodKey, tenantKey));
    for (const key of shown) forget(connection).run(key);
    if (shown.length > 0) {
      db.update(periods).set({ unsteadyRunKey: run.runKey }).where(eq(periods.periodKey, periodKey)).run();
    }
    if (complete.has(periodKey)) continue;
    const isLive = and(eq(tenantUsage.periodKey, periodKey), eq(tenantUsage.withdrawn, 0));
    const held = db.select({ tenantKey: tenantUsage.tenantKey }).from(tenantUsage);
    for (const { tenantKey } of held.where(and(isLive, lte(tenantUsage.tenantKey, knownTenants))).all()) {
      if (!keys.has(periodKey, tenantKey)) note(connection).run({ periodKey, tenantKey, runKey: run.runKey });
    }
  }
}

/** Moves these keys to the end of the queue in which tenants' histories are checked. */
export function requeueAbsent(connection: LedgerDb, run: ClaimedRun, keys: readonly AbsentKey[]): void {
  for (const { periodKey, tenantKey } of keys) {
    const isKey = and(eq(absences.periodKey, periodKey), eq(absences.tenantKey, tenantKey));
    query(connection).update(absences).set({ runKey: run.runKey }).where(isKey).run();
  }
}

const note = prepared((db) =>
  db
    .insert(absences)
    .values(placeholders(['periodKey', 'tenantKey', 'runKey']))
    .onConflictDoNothing(),
);

const forget = prepared((db) => {
  const isPeriod = eq(absences.periodKey, sql.placeholder('periodKey'));
  return db.delete(absences).where(and(isPeriod, eq(absences.tenantKey, sql.placeholder('tenantKey'))));
});

/** Reports whether some keys of this workspace are missing from its latest walks and are not yet withdrawn. */
export function hasAbsences(connection: LedgerDb, run: ClaimedRun): boolean {
  const isOfPeriod = eq(absences.periodKey, periods.periodKey);
  const absent = query(connection).select().from(periods).innerJoin(absences, isOfPeriod);
  return absent.where(eq(periods.workspaceKey, run.workspaceKey)).limit(1).get() !== undefined;
}

/**
 * Appends a `withdrawn` entry for each of these keys, with deltas that bring its figures to zero. Skips keys that are
 * withdrawn already. Returns the number of entries.
 */
export function appendWithdrawals(
  connection: LedgerDb,
  run: ClaimedRun,
  withdrawals: readonly { periodKey: number; tenantKey: number }[],
): number {
  const append = connection.prepare(
    `INSERT INTO usage_entries
       (run_key, period_key, tenant_key, kind, credits_delta, requests_delta, credits_after, requests_after)
     SELECT ?, period_key, tenant_key, ${ENTRY_KINDS.withdrawn}, -credits_used, -request_count, 0, 0
     FROM tenant_usage WHERE period_key = ? AND tenant_key = ? AND withdrawn = 0`,
  );
  let entries = 0;
  for (const { periodKey, tenantKey } of withdrawals) {
    entries += append.run(run.runKey, periodKey, tenantKey).changes;
    forget(connection).run({ periodKey, tenantKey });
  }
  return entries;
}
