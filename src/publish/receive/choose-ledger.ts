import type { ReplicaClient } from '../connect.ts';
import { ReplicaError } from '../replica-error.ts';

interface KnownLedger {
  ledger_id: string;
  workspaces: string[];
}

/**
 * The ledger that is meant when nobody names one: the only one of the replica that has workspaces of the configuration.
 * Throws ReplicaError `not_in_replica`, or `which_ledger` naming all that it could be.
 */
export async function chooseLedger(client: ReplicaClient, workspaceIds: readonly string[]): Promise<string> {
  const ledgers = await client.query<KnownLedger>(
    `SELECT l.ledger_id, coalesce(array_agg(w.workspace_id ORDER BY w.workspace_id) FILTER (WHERE w.workspace_id IS NOT NULL), '{}') AS workspaces
     FROM ledgers l LEFT JOIN workspaces w USING (ledger_key) WHERE l.published_at <> '' GROUP BY l.ledger_id ORDER BY l.ledger_id`,
  );
  const ours = ledgers.filter(({ workspaces }) => workspaces.some((id) => workspaceIds.includes(id)));
  const [only, ...others] = ours;
  if (only !== undefined && others.length === 0) return only.ledger_id;
  if (only === undefined) {
    throw new ReplicaError('not_in_replica', 'the replica holds no ledger with a workspace of the configuration', {
      hint: 'check publish.url and publish.schema; `usage-ledger status --replica` lists what is there, and --ledger ID names one of them',
    });
  }
  const list = ours.map(({ ledger_id, workspaces }) => `  ${ledger_id}: ${workspaces.join(', ')}`).join('\n');
  throw new ReplicaError('which_ledger', `the replica holds several ledgers of these workspaces:\n${list}`, {
    hint: 'name one of them with --ledger ID',
  });
}
