import { connectReplica, type ReplicaClient, type ReplicaSettings, type ReplicaWay } from '../connect.ts';
import { isUnpublished } from '../replica-error.ts';
import { escapeNul, unescapeNul } from '../send/nul.ts';

/** A ledger of the replica, by its head there. */
export interface Holder {
  ledgerId: string;
  position: number;
  headDigest: string;
}

/**
 * The other ledger in which the replica counts a workspace; null when that is this one or none. Throws ReplicaError.
 */
export async function findHolder(
  settings: ReplicaSettings,
  { workspaceId, ledgerId }: { workspaceId: string; ledgerId: string },
  way?: ReplicaWay,
): Promise<Holder | null> {
  const client = await connectReplica(settings, way);
  try {
    const [holder] = await client.query<{ ledger_id: string; position: bigint; head_digest: string }>(
      `SELECT l.ledger_id, l.position, l.head_digest
       FROM counted_workspaces c JOIN workspaces w USING (ledger_key, workspace_key) JOIN ledgers l USING (ledger_key)
       WHERE w.workspace_id = $1 AND w.first_run_key IS NOT NULL AND l.ledger_id <> $2 AND w.workspace_id <> ALL (l.elsewhere)`,
      [escapeNul(workspaceId), ledgerId],
    );
    if (holder === undefined) return null;
    return { ledgerId: holder.ledger_id, position: Number(holder.position), headDigest: holder.head_digest };
  } catch (error) {
    // Nobody has published yet.
    if (isUnpublished(error)) return null;
    throw error;
  } finally {
    await client.close();
  }
}

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
      `${JSON.stringify(id)} counts in ledger ${holder}, which reads it, too: list it on one machine only, ` +
      `or take it over here by \`usage-ledger workspace keep ${id} --force\``
    );
  });
}
