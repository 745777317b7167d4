import { and, desc, eq, isNotNull } from 'drizzle-orm';
import type { LedgerConnection, LedgerQueries } from './open.ts';
import { ledgerMeta, runs, workspaces } from './schema.ts';

/** Whether any run of this workspace has been published. */
export function hasPublished(connection: LedgerConnection, workspaceId: string): boolean {
  const first = connection
    .prepare('SELECT 1 FROM workspaces WHERE workspace_id = ? AND first_run_key IS NOT NULL')
    .get(workspaceId);
  return first !== undefined;
}

/** The latest cron slot for which a run of this kind was begun, ISO-8601 UTC; null when there was none. */
export function latestSlot(
  queries: LedgerQueries,
  workspaceId: string,
  kind: 'scheduled' | 'reconcile',
): string | null {
  const row = queries
    .select({ slot: runs.slot })
    .from(runs)
    .innerJoin(workspaces, eq(workspaces.workspaceKey, runs.workspaceKey))
    .where(and(eq(workspaces.workspaceId, workspaceId), eq(runs.kind, kind), isNotNull(runs.slot)))
    .orderBy(desc(runs.runKey))
    .limit(1)
    .get();
  return row?.slot ?? null;
}

/** The id that names this ledger's queues. */
export function ledgerId(queries: LedgerQueries): string {
  const row = queries.select().from(ledgerMeta).where(eq(ledgerMeta.name, 'ledger_id')).get();
  if (row === undefined) throw new Error('the ledger has no id');
  return row.value;
}
