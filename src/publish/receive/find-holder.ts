import { connectReplica, type ReplicaSettings } from '../connect.ts';
import { isUnpublished } from '../replica-error.ts';
import { escapeNul } from '../send/nul.ts';

/**
 * The id of another ledger in the replica that has a history of the workspace and does not leave it to others; null when
 * there is none. Throws ReplicaError.
 */
export async function findHolder(
  settings: ReplicaSettings,
  { workspaceId, ledgerId }: { workspaceId: string; ledgerId: string },
): Promise<string | null> {
  const client = await connectReplica(settings);
  try {
    const [holder] = await client.query<{ ledger_id: string }>(
      `SELECT l.ledger_id FROM workspaces w JOIN ledgers l USING (ledger_key)
       WHERE w.workspace_id = $1 AND w.first_run_key IS NOT NULL AND l.ledger_id <> $2 AND w.workspace_id <> ALL (l.elsewhere)
       ORDER BY 1 LIMIT 1`,
      [escapeNul(workspaceId), ledgerId],
    );
    return holder?.ledger_id ?? null;
  } catch (error) {
    // Nobody has published yet.
    if (isUnpublished(error)) return null;
    throw error;
  } finally {
    await client.close();
  }
}
