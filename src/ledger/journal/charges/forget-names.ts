import { isoTime } from '../../../core/clock.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { tenantNames } from '../../store/schema/billing-tables.ts';
import { and, eq, isNotNull, lt, max, notInArray } from '../../store/schema/drizzle.ts';
import { periods, tenants } from '../../store/schema/workspace-tables.ts';
import { findWorkspace } from '../../store/subjects.ts';
import { headOfChain } from '../runs/digest.ts';
import { billedTenants } from './read-billed.ts';

export interface ForgetRequest {
  workspaceId: string;
  tenantId: string;
  /** True: says what would be done, and does nothing. */
  dryRun: boolean;
  nowMs: number;
}

export interface ForgetReport {
  /** Names, each with its reference and labels, that are taken out. */
  forgotten: number;
  /** Closed periods whose statements name the tenant: what they have committed to stays, without labels. */
  named: string[];
}

/**
 * Takes out what people called a tenant: all names but those that a close in force has committed to, and all labels. From then on
 * the tenant has no name. Null when the workspace has no such tenant.
 */
export function forgetNames(connection: LedgerConnection, request: ForgetRequest): ForgetReport | null {
  const { workspaceId, tenantId, dryRun, nowMs } = request;
  const db = query(connection);
  const secure = connection.pragma('secure_delete', { simple: true });
  // What is taken out leaves no bytes in free pages.
  connection.pragma('secure_delete = ON');
  try {
    return connection
      .transaction(() => {
        const { workspaceKey = 0 } = findWorkspace(connection, workspaceId) ?? {};
        const isOwn = and(eq(tenants.workspaceKey, workspaceKey), eq(tenants.tenantId, tenantId));
        const tenant = db.select().from(tenants).where(isOwn).get();
        if (tenant === undefined) return null;
        const { tenantKey } = tenant;
        const isTenant = eq(tenantNames.tenantKey, tenantKey);
        const names = db.select().from(tenantNames).where(isTenant).all();
        const kept = committedNames(connection, { workspaceKey, tenantKey, tenantId });
        const gone = names.filter(({ afterSeq }) => !kept.has(afterSeq));
        const stays = names.filter(
          ({ afterSeq, ...name }) => kept.has(afterSeq) && !isBlank({ ...name, labels: '{}' }),
        );
        const named = stays.flatMap(({ afterSeq }) => kept.get(afterSeq) ?? []).sort();
        const report = { forgotten: gone.filter((name) => !isBlank(name)).length, named };
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

function isBlank({ displayName, externalRef, labels }: Name): boolean {
  return displayName === null && externalRef === null && labels === '{}';
}

/** The rows that closes in force have taken the name from, by the link after which it was given, with their periods. */
function committedNames(
  connection: LedgerConnection,
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
