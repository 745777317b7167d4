import { isoTime } from '../../../core/clock.ts';
import { UsageError } from '../../../core/errors.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { tenantNames } from '../../store/schema/billing-tables.ts';
import { and, asc, eq, isNotNull, lt, max, notInArray, query, sql } from '../../store/schema/drizzle.ts';
import { periods, tenants, workspaces } from '../../store/schema/workspace-tables.ts';
import { findTenant, findWorkspace } from '../../store/subjects.ts';
import { headOfChain } from '../runs/digest.ts';
import { billedTenants } from './read-billed.ts';

export interface ImportedTenantName {
  tenantId: string;
  displayName: string | null;
  externalRef: string | null;
  labels: Readonly<Record<string, string>>;
}

export interface NamesImport {
  workspaceId: string;
  names: readonly ImportedTenantName[];
  /** True: the changes are reported but not made. */
  dryRun: boolean;
  nowMs: number;
}

/** The changes that an import of names made, or would make. Lists contain tenant ids, in file order. */
export interface NamesReport {
  workspaceId: string;
  added: string[];
  changed: string[];
  unchanged: number;
  /** Tenants in the file but not in the ledger. They are skipped, because a typo in an id must not create a tenant. */
  unknown: string[];
  /** Tenants in the ledger but not in the file. Their names stay unchanged. */
  missing: string[];
  /** References that several tenants would share after the import. At least one of these tenants is in the file. */
  shared: { reference: string; tenants: string[] }[];
}

/**
 * Records the names of a workspace's tenants. A period that is already closed keeps the names that it had at its close.
 */
export function importNames(connection: LedgerDb, request: NamesImport): NamesReport {
  const { workspaceId, names, dryRun, nowMs } = request;
  const ofWorkspace = readNames(connection, workspaceId);
  const known = new Map(ofWorkspace.map((tenant) => [tenant.tenantId, tenant]));
  const named = new Set(names.map(({ tenantId }) => tenantId));
  for (const { tenantId, externalRef } of names) {
    if (externalRef === null || externalRef === tenantId) continue;
    if (!known.has(externalRef) && !named.has(externalRef)) continue;
    const what = `the reference ${JSON.stringify(externalRef)} of ${JSON.stringify(tenantId)} is the id of another tenant`;
    throw new UsageError(
      `${what}: its invoices would count for that tenant`,
      'use a different reference; nothing was changed',
    );
  }
  const report: NamesReport = {
    workspaceId,
    added: [],
    changed: [],
    unchanged: 0,
    unknown: [],
    missing: ofWorkspace.filter(({ tenantId }) => !named.has(tenantId)).map(({ tenantId }) => tenantId),
    shared: sharedReferences([...ofWorkspace.filter(({ tenantId }) => !named.has(tenantId)), ...names], named),
  };
  const write = prepareWrite(connection, nowMs);
  connection
    .transaction(() => {
      for (const name of names) {
        const tenant = known.get(name.tenantId);
        const labels = JSON.stringify(name.labels);
        if (tenant === undefined) report.unknown.push(name.tenantId);
        else if (isSameName(tenant, name, labels)) report.unchanged += 1;
        else {
          (tenant.labels === null ? report.added : report.changed).push(name.tenantId);
          if (!dryRun) write(tenant.tenantKey, name, labels);
        }
      }
    })
    .immediate();
  return report;
}

function sharedReferences(
  all: readonly Pick<ImportedTenantName, 'tenantId' | 'externalRef'>[],
  named: ReadonlySet<string>,
): NamesReport['shared'] {
  const byReference = Map.groupBy(all, ({ externalRef }) => externalRef);
  return [...byReference].flatMap(([reference, owners]) => {
    const tenants = owners.map(({ tenantId }) => tenantId).sort();
    if (reference === null || tenants.length === 1 || !tenants.some((id) => named.has(id))) return [];
    return [{ reference, tenants }];
  });
}

/**
 * Lists the tenants of a workspace with their latest names. For a tenant without a name, the columns of the name and
 * `labels` are null.
 */
function readNames(connection: LedgerDb, workspaceId: string) {
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

function isSameName(tenant: NamedTenant, name: ImportedTenantName, labels: string): boolean {
  return tenant.labels === labels && tenant.displayName === name.displayName && tenant.externalRef === name.externalRef;
}

function prepareWrite(connection: LedgerDb, nowMs: number) {
  const { seq } = headOfChain(connection);
  const { placeholder } = sql;
  const name = { displayName: placeholder('displayName'), externalRef: placeholder('externalRef') };
  // Two imports without a link of the chain between them have the same position, so the later import replaces the
  // earlier one.
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
  return (tenantKey: number, { displayName, externalRef }: ImportedTenantName, labels: string): void => {
    write.run({ tenantKey, displayName, externalRef, labels });
  };
}

interface ForgetRequest {
  workspaceId: string;
  tenantId: string;
  dryRun: boolean;
  nowMs: number;
}

interface ForgetReport {
  /** Number of deleted names. The reference and labels of each name are deleted, too. */
  forgotten: number;
  /** Closed periods whose statements name the tenant. The names in these statements are kept, without labels. */
  named: string[];
}

/**
 * Deletes all labels of a tenant, and its names except those that the statements of a closed period contain. The tenant
 * has no name afterwards. Returns null when the workspace has no such tenant.
 */
export function forgetNames(connection: LedgerDb, request: ForgetRequest): ForgetReport | null {
  const { workspaceId, tenantId, dryRun, nowMs } = request;
  const db = query(connection);
  const secure = connection.pragma('secure_delete', { simple: true });
  // Makes SQLite overwrite deleted content, so that no deleted name remains in the file.
  connection.pragma('secure_delete = ON');
  try {
    return connection
      .transaction(() => {
        const { workspaceKey = 0 } = findWorkspace(connection, workspaceId) ?? {};
        const tenant = findTenant(connection, workspaceKey, tenantId);
        if (tenant === undefined) return null;
        const { tenantKey } = tenant;
        const isTenant = eq(tenantNames.tenantKey, tenantKey);
        const names = db.select().from(tenantNames).where(isTenant).all();
        const kept = committedNames(connection, { workspaceKey, tenantKey, tenantId });
        const gone = names.filter(({ afterSeq }) => !kept.has(afterSeq));
        const stays = names.filter(
          ({ afterSeq, ...name }) => kept.has(afterSeq) && !isBlankName({ ...name, labels: '{}' }),
        );
        const named = stays.flatMap(({ afterSeq }) => kept.get(afterSeq) ?? []).sort();
        const report = { forgotten: gone.filter((name) => !isBlankName(name)).length, named };
        const isDone = report.forgotten === 0 && names.every(({ labels }) => labels === '{}');
        if (dryRun || isDone) return report;
        db.delete(tenantNames)
          .where(and(isTenant, notInArray(tenantNames.afterSeq, [...kept.keys()])))
          .run();
        db.update(tenantNames).set({ labels: '{}' }).where(isTenant).run();
        if (stays.length === 0) return report;
        const nameless = { displayName: null, externalRef: null, labels: '{}', recordedAt: isoTime(nowMs) };
        db.insert(tenantNames)
          .values({ tenantKey, afterSeq: headOfChain(connection).seq, ...nameless })
          .run();
        return report;
      })
      .immediate();
  } finally {
    connection.pragma(`secure_delete = ${secure}`);
  }
}

type Name = Pick<typeof tenantNames.$inferSelect, 'displayName' | 'externalRef' | 'labels'>;

function isBlankName({ displayName, externalRef, labels }: Name): boolean {
  return displayName === null && externalRef === null && labels === '{}';
}

/**
 * Returns the closed periods whose statements contain a name of the tenant. The map's keys are the positions
 * (`after_seq`) of these names.
 */
function committedNames(
  connection: LedgerDb,
  { workspaceKey, tenantKey, tenantId }: { workspaceKey: number; tenantKey: number; tenantId: string },
): Map<number, string[]> {
  const db = query(connection);
  const isClosed = and(eq(periods.workspaceKey, workspaceKey), isNotNull(periods.closedSeq));
  const kept = new Map<number, string[]>();
  for (const { periodKey, period, closedSeq } of db.select().from(periods).where(isClosed).all()) {
    if ([...billedTenants(connection, { periodKey, closedSeq }, tenantId)].length === 0) continue;
    const isBefore = and(eq(tenantNames.tenantKey, tenantKey), lt(tenantNames.afterSeq, closedSeq ?? 0));
    const seq =
      db
        .select({ seq: max(tenantNames.afterSeq) })
        .from(tenantNames)
        .where(isBefore)
        .get()?.seq ?? null;
    if (seq !== null) kept.set(seq, [...(kept.get(seq) ?? []), period]);
  }
  return kept;
}
