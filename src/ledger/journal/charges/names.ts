import { isoTime } from '../../../core/clock.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
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
  const tenants = connection
    .prepare(
      `SELECT t.tenant_id AS tenantId, t.tenant_key AS tenantKey, n.display_name AS displayName,
         n.external_ref AS externalRef, n.labels
       FROM workspaces w JOIN tenants t USING (workspace_key)
       LEFT JOIN tenant_names n ON n.tenant_key = t.tenant_key
         AND n.after_seq = (SELECT max(m.after_seq) FROM tenant_names m WHERE m.tenant_key = t.tenant_key)
       WHERE w.workspace_id = ? ORDER BY t.tenant_id`,
    )
    .all(workspaceId) as NamedTenant[];
  const known = new Map(tenants.map((tenant) => [tenant.tenantId, tenant]));
  const named = new Set(names.map(({ tenantId }) => tenantId));
  const report: NamesReport = {
    workspaceId,
    added: [],
    changed: [],
    unchanged: 0,
    unknown: [],
    missing: tenants.filter(({ tenantId }) => !named.has(tenantId)).map(({ tenantId }) => tenantId),
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

interface NamedTenant {
  tenantId: string;
  tenantKey: number;
  displayName: string | null;
  externalRef: string | null;
  /** Null: it has no name. */
  labels: string | null;
}

function isSame(tenant: NamedTenant, name: TenantName, labels: string): boolean {
  return tenant.labels === labels && tenant.displayName === name.displayName && tenant.externalRef === name.externalRef;
}

function prepareWrite(connection: LedgerConnection, nowMs: number) {
  const { seq } = headOfChain(connection);
  // Of two imports without a link between them no close can tell, so the later one stands.
  const insert = connection.prepare(
    `INSERT INTO tenant_names (tenant_key, after_seq, display_name, external_ref, labels, recorded_at)
     VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (tenant_key, after_seq) DO UPDATE SET display_name = excluded.display_name,
       external_ref = excluded.external_ref, labels = excluded.labels, recorded_at = excluded.recorded_at`,
  );
  return (tenantKey: number, { displayName, externalRef }: TenantName, labels: string): void => {
    insert.run(tenantKey, seq, displayName, externalRef, labels, isoTime(nowMs));
  };
}
