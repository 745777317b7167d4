import { nearest } from '../../core/text/closest.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { and, asc, count, eq, gte, query } from '../../ledger/store/schema/drizzle.ts';
import type { financeHistory } from '../../ledger/store/schema/finance-views.ts';
import type { RowWithBigints } from '../../ledger/store/schema/rows.ts';
import { tenants, workspaces } from '../../ledger/store/schema/workspace-tables.ts';
import { tenantNameReader } from '../../ledger/store/tenant-names.ts';
import { whereClause } from '../../ledger/store/where.ts';
import { type Column, formatSigned } from '../formats/columns.ts';

export interface NamedTenantRow {
  workspace_id: string;
  tenant_id: string;
  display_name: string | null;
  external_ref: string | null;
  labels: Readonly<Record<string, string>>;
  first_seen_at: string | null;
}

/** The position of a tenant in the listing that `namedTenants` returns. */
export interface TenantPlace {
  workspaceId: string;
  tenantId: string;
}

/**
 * Returns the tenants of a workspace, or of all workspaces, sorted by workspace id and tenant id. Each tenant has its
 * name, if there is one. Returns at most `limit` tenants, and only those after the position `after` if it is given.
 */
export function namedTenants(
  connection: LedgerDb,
  workspaceId: string | undefined,
  limit?: number,
  after: TenantPlace | null = null,
): NamedTenantRow[] {
  if (after === null) return tenantsWhere(connection, { workspaceId, limit });
  const rows: NamedTenantRow[] = [];
  // Queries one workspace at a time. In one query for all workspaces, SQLite would read all tenants before the position
  // again.
  for (const id of workspacesFrom(connection, after.workspaceId)) {
    if (rows.length === limit) break;
    if (workspaceId !== undefined && id !== workspaceId) continue;
    const afterId = id === after.workspaceId ? after.tenantId : undefined;
    const left = limit === undefined ? undefined : limit - rows.length;
    rows.push(...tenantsWhere(connection, { workspaceId: id, afterId, limit: left }));
  }
  return rows;
}

/** Returns one tenant with its name, reference and labels; null if the workspace has no such tenant. */
export function namedTenant(connection: LedgerDb, workspaceId: string, tenantId: string): NamedTenantRow | null {
  return tenantsWhere(connection, { workspaceId, tenantId, limit: 1 })[0] ?? null;
}

function workspacesFrom(connection: LedgerDb, first: string): string[] {
  const { workspaceId } = workspaces;
  const found = query(connection).select({ workspaceId }).from(workspaces).where(gte(workspaceId, first));
  return found
    .orderBy(asc(workspaceId))
    .all()
    .map((workspace) => workspace.workspaceId);
}

function tenantsWhere(
  connection: LedgerDb,
  wanted: {
    workspaceId: string | undefined;
    tenantId?: string;
    afterId?: string | undefined;
    limit: number | undefined;
  },
): NamedTenantRow[] {
  const { where, values } = whereClause({ workspace_id: wanted.workspaceId, tenant_id: wanted.tenantId });
  const rows = connection
    .prepare(
      `SELECT workspace_id, tenant_id, display_name, external_ref, labels, first_seen_at
       FROM finance_tenants ${where === '' ? 'WHERE' : `${where} AND`} tenant_id > ?
       ORDER BY workspace_id, tenant_id LIMIT ?`,
    )
    .all(...values, wanted.afterId ?? '', wanted.limit ?? -1) as (Omit<NamedTenantRow, 'labels'> & {
    labels: string | null;
  })[];
  return rows.map((row) => ({ ...row, labels: JSON.parse(row.labels ?? '{}') as Record<string, string> }));
}

export function countTenants(connection: LedgerDb, workspaceId: string | undefined): number {
  const counted = query(connection)
    .select({ count: count() })
    .from(workspaces)
    .innerJoin(tenants, eq(tenants.workspaceKey, workspaces.workspaceKey))
    .where(workspaceId === undefined ? undefined : eq(workspaces.workspaceId, workspaceId));
  return counted.get()?.count ?? 0;
}

export interface NearTenant {
  workspace_id: string;
  tenant_id: string;
  display_name: string | null;
}

/** At most this many tenant ids, and this many names, are compared with a word that matches no tenant. */
const MAX_COMPARED_TENANTS = 2_000;
/**
 * A word with more characters than this is not compared: it is hardly a mistyped id, and the comparison would be slow.
 */
const MAX_SEARCH_LENGTH = 100;

/**
 * Returns up to three tenants whose id or name is similar to `word`, the best match first. In a large ledger, only some
 * of the tenants are compared.
 */
export function nearTenants(connection: LedgerDb, word: string, workspaceId: string | undefined): NearTenant[] {
  if (word.length > MAX_SEARCH_LENGTH) return [];
  const byId = idsAround(connection, word, workspaceId);
  const byName = someNames(connection, workspaceId);
  const starts = [...byId.keys()].filter((id) => word.length > 2 && id.toLowerCase().startsWith(word.toLowerCase()));
  const texts = [...nearest(word, [...new Set([...byId.keys(), ...byName.keys()])], 3), ...starts.sort()];
  const matches = new Map<string, { workspace_id: string; tenant_id: string }>();
  for (const text of texts) {
    const found = byId.get(text) ?? byName.get(text);
    if (found !== undefined && matches.size < 3) matches.set(`${found.tenant_id} ${found.workspace_id}`, found);
  }
  return [...matches.values()].map((found) => {
    const nameOf = tenantNameReader(connection, found.workspace_id);
    return { ...found, display_name: nameOf(found.tenant_id) };
  });
}

type TenantPlaces = Map<string, { workspace_id: string; tenant_id: string }>;

/**
 * Returns tenant ids to compare with the word. The first ones share its beginning or sort next to it; the index finds
 * them. The first ids of each workspace follow, which are all ids of a small workspace.
 */
function idsAround(connection: LedgerDb, word: string, workspaceId: string | undefined): TenantPlaces {
  const searched = query(connection)
    .select({ workspace_key: workspaces.workspaceKey, workspace_id: workspaces.workspaceId })
    .from(workspaces)
    .where(workspaceId === undefined ? undefined : eq(workspaces.workspaceId, workspaceId))
    .orderBy(asc(workspaces.workspaceId))
    .limit(100)
    .all();
  const read = (compare: string) =>
    connection
      .prepare(`SELECT tenant_id FROM tenants WHERE workspace_key = ? AND tenant_id ${compare} LIMIT ?`)
      .pluck();
  const after = read('>= ? ORDER BY tenant_id');
  const before = read('< ? ORDER BY tenant_id DESC');
  const found: TenantPlaces = new Map();
  let left = MAX_COMPARED_TENANTS;
  const addIds =
    (statement: typeof after, { workspace_key, workspace_id }: (typeof searched)[number]) =>
    (from: string, most: number): void => {
      const ids = statement.all(workspace_key, from, Math.max(0, Math.min(most, left))) as string[];
      left -= ids.length;
      for (const tenant_id of ids) if (!found.has(tenant_id)) found.set(tenant_id, { workspace_id, tenant_id });
    };
  const swapped = `${word.charAt(1)}${word.charAt(0)}${word.slice(2)}`;
  const spellings = new Set([word, word.toLowerCase(), word.toUpperCase(), word.slice(1), swapped]);
  for (const workspace of searched) {
    for (const spelling of spellings) {
      addIds(after, workspace)(spelling, 10);
      addIds(before, workspace)(spelling, 10);
      for (let cut = 1; cut <= 6 && cut < spelling.length; cut += 1)
        addIds(after, workspace)(spelling.slice(0, -cut), 3);
    }
  }
  for (const workspace of searched) addIds(after, workspace)('', left);
  return found;
}

function someNames(connection: LedgerDb, workspaceId: string | undefined): TenantPlaces {
  const { where, values } = whereClause({ workspace_id: workspaceId });
  const rows = connection
    .prepare(
      `SELECT display_name, workspace_id, tenant_id
       FROM (SELECT tenant_key, display_name FROM tenant_names WHERE display_name IS NOT NULL LIMIT ${MAX_COMPARED_TENANTS})
       JOIN tenants USING (tenant_key) JOIN workspaces USING (workspace_key) ${where}`,
    )
    .raw()
    .all(...values) as [string, string, string][];
  return new Map(rows.map(([name, workspace_id, tenant_id]) => [name, { workspace_id, tenant_id }]));
}

/** One row of `finance_history` for a given workspace and tenant. */
export type TenantEntry = Omit<RowWithBigints<typeof financeHistory.$inferSelect>, 'workspace_id' | 'tenant_id'>;

export const TENANT_ENTRY_COLUMNS: readonly Column<TenantEntry>[] = [
  { name: 'entry_id', kind: 'count', header: 'Entry' },
  { name: 'recorded_at', kind: 'date', header: 'Recorded' },
  { name: 'period', kind: 'text', header: 'Period' },
  { name: 'kind', kind: 'text', header: 'Kind' },
  { name: 'credits_delta', kind: 'credits', header: 'Credits', words: formatSigned },
  { name: 'credits_after', kind: 'credits', header: 'After' },
  { name: 'requests_delta', kind: 'count', header: 'Requests', words: formatSigned },
  { name: 'requests_after', kind: 'count', header: 'Requests after', wide: true },
  { name: 'run_id', kind: 'id', header: 'Run', wide: true },
];

type PlacedEntry = TenantEntry & { workspace_id: string; tenant_id: string; display_name: string | null };

export const PLACED_ENTRY_COLUMNS: readonly Column<PlacedEntry>[] = [
  { name: 'workspace_id', kind: 'id' },
  { name: 'tenant_id', kind: 'id' },
  { name: 'display_name', kind: 'text' },
  ...TENANT_ENTRY_COLUMNS,
];

export function workspacesOfTenant(connection: LedgerDb, tenantId: string): string[] {
  const { workspaceId, workspaceKey } = workspaces;
  const found = query(connection)
    .select({ workspaceId })
    .from(workspaces)
    .innerJoin(tenants, and(eq(tenants.workspaceKey, workspaceKey), eq(tenants.tenantId, tenantId)));
  return found
    .orderBy(asc(workspaceId))
    .all()
    .map((workspace) => workspace.workspaceId);
}

/** Returns every recorded change of a tenant's usage, the oldest first. */
export function tenantEntries(connection: LedgerDb, workspaceId: string, tenantId: string): TenantEntry[] {
  // Selects the entry ids in a subquery. The view's joins hide from SQLite that a tenant belongs to one workspace. A
  // filter on the view would therefore read every entry of the workspace.
  return connection
    .prepare(
      `SELECT entry_id, run_id, recorded_at, period, kind, credits_delta, requests_delta, credits_after, requests_after
       FROM finance_history
       WHERE entry_id IN (
         SELECT e.entry_id FROM workspaces w
         JOIN tenants t USING (workspace_key) JOIN periods p USING (workspace_key)
         JOIN usage_entries e ON e.period_key = p.period_key AND e.tenant_key = t.tenant_key
         WHERE w.workspace_id = ? AND t.tenant_id = ?)
       ORDER BY entry_id`,
    )
    .safeIntegers()
    .all(workspaceId, tenantId) as TenantEntry[];
}
