import type { LedgerConnection } from '../file/open.ts';

/** The latest cron slot for which a run of this kind was begun, ISO-8601 UTC; null when there was none. */
export function latestSlot(
  connection: LedgerConnection,
  workspaceId: string,
  kind: 'scheduled' | 'reconcile',
): string | null {
  const slot = connection
    .prepare(
      `SELECT slot FROM runs JOIN workspaces USING (workspace_key)
       WHERE workspace_id = ? AND kind = ? AND slot IS NOT NULL ORDER BY run_key DESC LIMIT 1`,
    )
    .pluck()
    .get(workspaceId, kind) as string | undefined;
  return slot ?? null;
}

/** The id that names this ledger's queues. */
export function ledgerId(connection: LedgerConnection): string {
  const id = connection.prepare("SELECT value FROM ledger_meta WHERE name = 'ledger_id'").pluck().get();
  if (typeof id !== 'string') throw new Error('the ledger has no id');
  return id;
}
