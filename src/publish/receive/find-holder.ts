import type { ReplicaClient } from '../connect.ts';
import { unescapeNul } from '../send/nul.ts';

/**
 * The workspaces that a ledger reads and does not leave to others, and that the replica's views take from another ledger, which
 * was first: a sentence each.
 */
export async function findUncounted(client: ReplicaClient, ledgerKey: number): Promise<string[]> {
  const rows = await client.query<{ workspace_id: string; ledger_id: string }>(
    `SELECT w.workspace_id, c.ledger_id
     FROM workspaces w JOIN ledgers l USING (ledger_key)
     JOIN counted_workspaces c ON c.workspace_id = w.workspace_id AND c.ledger_key <> w.ledger_key
     WHERE w.ledger_key = $1 AND w.first_run_key IS NOT NULL AND w.workspace_id <> ALL (l.elsewhere) ORDER BY 1`,
    [ledgerKey],
  );
  return rows.map(({ workspace_id, ledger_id: holder }) => {
    const id = unescapeNul(workspace_id);
    return (
      `${JSON.stringify(id)} counts in ledger ${holder}, which reads it, too: let one machine read it, ` +
      `and end it on the other one by \`usage-ledger workspace end ${id} --elsewhere\``
    );
  });
}
