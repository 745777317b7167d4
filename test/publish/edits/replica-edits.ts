import type { ReplicaClient } from '../../../src/publish/connect.ts';
import { columnsInPostgres, MIRRORS } from '../../../src/publish/replica/mirrors.ts';
import { VIEWS } from '../../../src/publish/replica/statements.ts';

/** Something that somebody does to the replica who may write to it. */
export interface Edit {
  /** The table or view that must be named. */
  name: string;
  sql: string;
}

/** Who works at the moment, who has published and when: of no use to a forger, and compared by nothing. */
const NOBODYS = [
  ...['leases', 'outbox.claimed_until', 'outbox.unknown_attempts', 'alerts.ask_at', 'alerts.asked_at'],
  ...[
    'ledgers.published_at',
    'ledgers.published_by',
    'ledgers.ledger_key',
    'ledgers.ledger_id',
    'checkpoints.ledger_key',
  ],
];

/** Every view and table rewritten, dropped, emptied and faked, in each way on its own. */
export async function replicaEdits(client: ReplicaClient): Promise<Edit[]> {
  const edits: Edit[] = [];
  for (const { name } of VIEWS) {
    edits.push({ name, sql: `DROP VIEW ${name} CASCADE` });
    edits.push({
      name,
      sql: `CREATE TABLE stolen AS SELECT * FROM ${name}; DROP VIEW ${name} CASCADE; ALTER TABLE stolen RENAME TO ${name}`,
    });
    edits.push({
      name,
      sql: `DO $$ BEGIN EXECUTE format('CREATE OR REPLACE VIEW ${name} AS SELECT * FROM (%s) q LIMIT 1', rtrim(pg_get_viewdef('${name}'), ';')); END $$`,
    });
    edits.push({ name, sql: `ALTER VIEW ${name} SET (security_barrier)` });
  }
  const tables = [
    ...MIRRORS.map((mirror) => ({
      name: mirror.name,
      key: ['ledger_key', ...mirror.key],
      columns: [...columnsInPostgres(mirror)],
    })),
    {
      name: 'checkpoints',
      key: ['ledger_key', 'seq'],
      columns: [
        ['seq', 'bigint'],
        ['note', 'text'],
      ] as [string, string][],
    },
    { name: 'ledgers', key: ['ledger_key'], columns: await columnsOf(client, 'ledgers') },
  ];
  for (const { name, key, columns } of tables) {
    edits.push({ name, sql: `DROP TABLE ${name} CASCADE` });
    edits.push({ name, sql: `ALTER TABLE ${name} FORCE ROW LEVEL SECURITY` });
    edits.push({
      name,
      sql: `ALTER TABLE ${name} RENAME TO ${name}_away; CREATE VIEW ${name} AS SELECT * FROM ${name}_away`,
    });
    edits.push({ name, sql: `CREATE RULE nothing AS ON INSERT TO ${name} DO INSTEAD NOTHING` });
    const isFilled = (await client.query(`SELECT 1 FROM ${name} LIMIT 1`)).length > 0;
    if (!isFilled || NOBODYS.includes(name)) continue;
    edits.push({ name, sql: `DELETE FROM ${name}` });
    const row = `(${key.join(', ')}) = (SELECT ${key.join(', ')} FROM ${name} ORDER BY md5(ROW(${key.join(', ')})::text) LIMIT 1)`;
    edits.push({ name, sql: `DELETE FROM ${name} WHERE ${row}` });
    for (const [column, type] of columns) {
      if (column === 'ledger_key' || NOBODYS.includes(`${name}.${column}`)) continue;
      edits.push({ name, sql: `UPDATE ${name} SET ${column} = ${otherValue(column, type)} WHERE ${row}` });
    }
  }
  return edits;
}

function otherValue(column: string, type: string): string {
  if (type.startsWith('bigint') || type.startsWith('integer')) return `coalesce(${column}, 0) + 1000`;
  if (type.startsWith('bytea')) return `coalesce(${column}, '') || '\\x00'::bytea`;
  if (type.startsWith('jsonb')) return `'{}'`;
  if (type.endsWith('[]')) return `array_append(${column}, 'ws-1')`;
  return `coalesce(${column}, '') || 'x'`;
}

async function columnsOf(client: ReplicaClient, table: string): Promise<[string, string][]> {
  const rows = await client.query<{ name: string; type: string }>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
     WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [table],
  );
  return rows.map(({ name, type }) => [name, type]);
}
