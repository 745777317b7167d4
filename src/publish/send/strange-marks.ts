import type { ReplicaClient } from '../connect.ts';
import { ADDED } from './changed-rows.ts';
import type { Marks, ReplicaState } from './position.ts';

type Highest = Record<keyof Omit<Marks, 'keptFromRun'> | 'position', bigint>;

// A mark may count several tables; the first of them has a row for each.
const HIGHEST = [
  ...ADDED.filter(({ mark }, index) => ADDED.findIndex((one) => one.mark === mark) === index),
  { name: 'runs', column: 'run_key', mark: 'runKey' as const },
].map(
  ({ name, column, mark }) =>
    `(SELECT coalesce(max(${column}), 0) FROM ${name} WHERE ledger_key = $1)::bigint AS "${mark}"`,
);
const POSITION = `greatest(
  (SELECT max(applied_seq) FROM runs WHERE ledger_key = $1 AND applied_seq IS NOT NULL),
  (SELECT max(event_seq) FROM period_events WHERE ledger_key = $1),
  (SELECT max(end_seq) FROM workspace_ends WHERE ledger_key = $1), 0)::bigint AS position`;

/**
 * Where the replica says that it has come to another place than its rows have, in words: what lies between would never be sent,
 * or be sent twice.
 */
export async function strangeMarks(client: ReplicaClient, held: ReplicaState): Promise<string[]> {
  const [highest] = await client.query<Highest>(`SELECT ${[...HIGHEST, POSITION].join(', ')}`, [held.ledgerKey]);
  const said: Record<string, number> = { ...held.marks, position: held.position };
  return Object.entries(highest ?? {})
    .filter(([mark, value]) => Number(value) !== said[mark])
    .map(([mark, value]) => `its ${wordsOf(mark)} is ${said[mark]}, that of its rows ${value}: all was sent again`);
}

function wordsOf(mark: string): string {
  const name = ADDED.find((one) => one.mark === mark)?.column ?? { runKey: 'run_key' }[mark];
  return name === undefined ? mark : `last ${name}`;
}
