import { type Period, periodBounds } from '../../core/period.ts';
import type { LedgerDb } from './ledger-db.ts';
import { and, eq, max, prepared, preparedSql, query, type SQLiteColumn, sql } from './schema/drizzle.ts';
import { periodKeyOf, periodOfKey, workspaceKeyOf } from './schema/keys.ts';
import { periods, tenants, workspaces } from './schema/workspace-tables.ts';

/** Returns the highest number in a key or position column; 0 when the table is empty. */
export function highest(connection: LedgerDb, column: SQLiteColumn): number {
  const rows = query(connection)
    .select({ last: max(column) })
    .from(column.table);
  return Number(rows.get()?.last ?? 0);
}

/** Sets the name of a workspace and returns its row. Creates the row if it is missing. */
export function upsertWorkspace(
  connection: LedgerDb,
  { workspaceId, name }: { workspaceId: string; name: string },
): typeof workspaces.$inferSelect {
  const { workspaceId: target } = workspaces;
  const insert = query(connection).insert(workspaces).values({ workspaceId, name });
  return insert.onConflictDoUpdate({ target, set: { name } }).returning().get();
}

const workspaceById = prepared((db) =>
  db
    .select()
    .from(workspaces)
    .where(eq(workspaces.workspaceId, sql.placeholder('workspaceId'))),
);

export function findWorkspace(connection: LedgerDb, workspaceId: string) {
  return workspaceById(connection).get({ workspaceId });
}

const periodByKey = prepared((db) =>
  db
    .select()
    .from(periods)
    .where(eq(periods.periodKey, sql.placeholder('periodKey'))),
);

/** Returns the row of a period; undefined when the ledger has no such period. */
export function findPeriod(connection: LedgerDb, periodKey: number) {
  return periodByKey(connection).get({ periodKey });
}

/** Returns the row of a period. Creates the row if it is missing. */
export function ensurePeriod(connection: LedgerDb, periodKey: number, coveredRunKey: number | null = null) {
  const known = findPeriod(connection, periodKey);
  if (known !== undefined) return known;
  const period = periodOfKey(periodKey);
  const { start: periodStart, end: periodEnd } = periodBounds(period);
  const row = { periodKey, workspaceKey: workspaceKeyOf(periodKey), period, periodStart, periodEnd, coveredRunKey };
  return query(connection).insert(periods).values(row).returning().get();
}

export function findPeriodOf(connection: LedgerDb, workspaceId: string, period: Period) {
  const workspace = findWorkspace(connection, workspaceId);
  return workspace && findPeriod(connection, periodKeyOf(workspace.workspaceKey, period));
}

export function workspaceOfPeriod(connection: LedgerDb, periodKey: number): typeof workspaces.$inferSelect {
  const isOwner = eq(workspaces.workspaceKey, workspaceKeyOf(periodKey));
  const found = query(connection).select().from(workspaces).where(isOwner).get();
  if (found === undefined) throw new Error(`the ledger has no workspace of the period with the key ${periodKey}`);
  return found;
}

const tenantById = prepared((db) => {
  const isOwn = eq(tenants.workspaceKey, sql.placeholder('workspaceKey'));
  return db
    .select()
    .from(tenants)
    .where(and(isOwn, eq(tenants.tenantId, sql.placeholder('tenantId'))));
});

/** Returns the row of a tenant; undefined when the ledger has no such tenant. */
export function findTenant(connection: LedgerDb, workspaceKey: number, tenantId: string) {
  return tenantById(connection).get({ workspaceKey, tenantId });
}

const tenantByKey = preparedSql('SELECT tenant_id FROM tenants WHERE tenant_key = ?', 'pluck');

export function tenantIdOf(connection: LedgerDb, tenantKey: number): string {
  const found = tenantByKey(connection).get(tenantKey) as string | undefined;
  if (found === undefined) throw new Error(`the ledger has no tenant with the key ${tenantKey}`);
  return found;
}
