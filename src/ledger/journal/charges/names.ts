import { isoTime } from '../../../core/clock.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { tenantNames } from '../../store/schema/billing-tables.ts';
import { and, asc, eq, sql } from '../../store/schema/drizzle.ts';
import { tenants, workspaces } from '../../store/schema/workspace-tables.ts';
import { headOfChain } from '../runs/digest.ts';

/** What people call a tenant. */
export interface TenantName {
  tenantId: string;
  displayName: string | null;
  externalRef: string | null;
  labels: Readonly<Record<string, string>>;
}

export interface NamesImport {
  workspaceId: string;
  names: readonly TenantName[];
  /** True: says what would be done, and does nothing. */
  dryRun: boolean;
  nowMs: number;
}

/** What an import of names has done, or would do. Ids are those of tenants, in the order of the file. */
export interface NamesReport {
  workspaceId: string;
  added: string[];
  changed: string[];
  unchanged: number;
  /** Named by the file, not in the ledger: left out, because a slip in an id must not become a tenant. */
  unknown: string[];
  /** In the ledger, not named by the file: they keep the name that they have, if any. */
  missing: string[];
}

/** Records the names of a workspace's tenants. A period that was closed before keeps the names of its close. */
export function importNames(connection: LedgerConnection, request: NamesImport): NamesReport {
  const { workspaceId, names, dryRun, nowMs } = request;
  const ofWorkspace = readNames(connection, workspaceId);
  const known = new Map(ofWorkspace.map((tenant) => [tenant.tenantId, tenant]));
  const named = new Set(names.map(({ tenantId }) => tenantId));
  const report: NamesReport = {
    workspaceId,
    added: [],
    changed: [],
    unchanged: 0,
    unknown: [],
    missing: ofWorkspace.filter(({ tenantId }) => !named.has(tenantId)).map(({ tenantId }) => tenantId),
  };
  const write = prepareWrite(connection, nowMs);
  connection
    .transaction(() => {
      for (const name of names) {
        const tenant = known.get(name.tenantId);
        const labels = JSON.stringify(name.labels);
        if (tenant === undefined) report.unknown.push(name.tenantId);
        else if (isSame(tenant, name, labels)) report.unchanged += 1;
        else {
          (tenant.labels === null ? report.added : report.changed).push(name.tenantId);
          if (!dryRun) write(tenant.tenantKey, name, labels);
        }
      }
    })
    .immediate();
  return report;
}

/** The tenants of a workspace, each with its latest name; without one its labels are null. */
function readNames(connection: LedgerConnection, workspaceId: string) {
  const { tenantId, tenantKey } = tenants;
  const { displayName, externalRef, labels, afterSeq } = tenantNames;
  const latest = sql`(SELECT max(m.after_seq) FROM tenant_names m WHERE m.tenant_key = ${tenantKey})`;
  return query(connection)
    .select({ tenantId, tenantKey, displayName, externalRef, labels })
    .from(workspaces)
    .innerJoin(tenants, eq(tenants.workspaceKey, workspaces.workspaceKey))
    .leftJoin(tenantNames, and(eq(tenantNames.tenantKey, tenantKey), eq(afterSeq, latest)))
    .where(eq(workspaces.workspaceId, workspaceId))
    .orderBy(asc(tenantId))
    .all();
}

type NamedTenant = ReturnType<typeof readNames>[number];

function isSame(tenant: NamedTenant, name: TenantName, labels: string): boolean {
  return tenant.labels === labels && tenant.displayName === name.displayName && tenant.externalRef === name.externalRef;
}

function prepareWrite(connection: LedgerConnection, nowMs: number) {
  const { seq } = headOfChain(connection);
  const { placeholder } = sql;
  const name = { displayName: placeholder('displayName'), externalRef: placeholder('externalRef') };
  // Of two imports without a link between them no close can tell, so the later one stands.
  const write = query(connection)
    .insert(tenantNames)
    .values({
      tenantKey: placeholder('tenantKey'),
      afterSeq: seq,
      ...name,
      labels: placeholder('labels'),
      recordedAt: isoTime(nowMs),
    })
    .onConflictDoUpdate({
      target: [tenantNames.tenantKey, tenantNames.afterSeq],
      set: {
        displayName: sql`excluded.display_name`,
        externalRef: sql`excluded.external_ref`,
        labels: sql`excluded.labels`,
        recordedAt: sql`excluded.recorded_at`,
      },
    })
    .prepare();
  return (tenantKey: number, { displayName, externalRef }: TenantName, labels: string): void => {
    write.run({ tenantKey, displayName, externalRef, labels });
  };
}
