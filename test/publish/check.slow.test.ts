import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openReader } from '../../src/ledger/store/file/open.ts';
import { buildRichLedger } from '../ledger/audit/verify/tamper/rich-ledger.ts';
import type { Reader } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { expectSameViews } from './compare-views.ts';
import { copyServer } from './copy-server.ts';

const EDITS = Number(process.env.PUBLISH_EDITS ?? 100);
const SEED = Number(process.env.PUBLISH_SEED ?? Date.now() % 0x7fff_ffff);
/** What the program keeps for itself there. */
const OWN = ['ledgers', 'publish_version'];

const TABLES_AT_ONCE = 6;
const TRIES = 30;

const copies = copyServer();

interface Edit {
  table: string;
  sql: string;
}

/** Each row of each table taken out, doubled under another number, or changed in one of its columns, by those who know SQL. */
async function possibleEdits(reader: Reader, schema: string): Promise<Edit[]> {
  const columns = await reader.query<{ table: string; name: string; type: string; key: boolean }>(
    `SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, NULL) AS type,
       EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND a.attnum = ANY (i.indkey)) AS key
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
     WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = 'r' AND c.relname <> ALL ($2) ORDER BY 1, a.attnum`,
    [schema, OWN],
  );
  const edits: Edit[] = [];
  for (const [table, ofTable] of Map.groupBy(columns, (column) => column.table)) {
    const rows = await reader.query<{ row: string }>(`SELECT ctid::text AS row FROM ${table} ORDER BY ctid LIMIT 20`);
    for (const { row } of rows) {
      const where = `WHERE ctid = '${row}'`;
      edits.push({ table, sql: `DELETE FROM ${table} ${where}` });
      const names = ofTable.map(({ name }) => `"${name}"`).join(', ');
      const last = ofTable.findLast(({ key, type }) => key && type === 'bigint');
      if (last !== undefined) {
        const values = names.replace(`"${last.name}"`, `"${last.name}" + 70000`);
        edits.push({ table, sql: `INSERT INTO ${table} (${names}) SELECT ${values} FROM ${table} ${where}` });
      }
      for (const { name, type } of ofTable) {
        if (name === 'ledger_key') continue;
        const value = type === 'bigint' ? `coalesce("${name}", 0) + 1` : `coalesce("${name}", '') || 'x'`;
        edits.push({ table, sql: `UPDATE ${table} SET "${name}" = ${value} ${where}` });
      }
    }
    // No count and no sum changes: two rows of one workspace give each other's values.
    const value = ofTable.find(({ name, key }) => !key && /credits|note|period|name|level/.test(name))?.name;
    if (value === undefined || rows.length < 2) continue;
    const [a, b] = [rows[0]?.row, rows[1]?.row];
    edits.push({
      table,
      sql: `UPDATE ${table} SET "${value}" = CASE ctid WHEN '${a}' THEN (SELECT "${value}" FROM ${table} WHERE ctid = '${b}')
        ELSE (SELECT "${value}" FROM ${table} WHERE ctid = '${a}') END WHERE ctid IN ('${a}', '${b}')`,
    });
  }
  return edits;
}

test(`${EDITS} edits of rows in Postgres are all found by their table, and all repaired`, {
  timeout: 60_000 + EDITS * 2_000,
}, async () => {
  const path = join(temporaryFolder(), 'ledger.db');
  const memory = await buildRichLedger();
  memory.exec(`VACUUM INTO '${path}'`);
  memory.close();
  const { connection, close } = openReader(path);
  const { publish, reader, schema } = await copies.open();
  await publish(path);
  expect((await publish(path, { compare: 'check' })).differences).toEqual([]);
  const random = new Random(SEED);
  const wrong: string[] = [];
  for (let done = 0; done < EDITS; ) {
    // One of each table at most, so that each is found by its table.
    const made = new Map<string, Edit>();
    const edits = await possibleEdits(reader, schema);
    for (let tries = 0; tries < TRIES && made.size < TABLES_AT_ONCE; tries += 1) {
      const edit = edits[Math.floor(random.fraction() * edits.length)] as Edit;
      if (!made.has(edit.table) && (await changes(reader, edit))) made.set(edit.table, edit);
    }
    done += made.size;
    const found = (await publish(path, { compare: 'repair' })).differences.map(({ table }) => table);
    // A workspace that is gone there comes again as a whole with the next publication.
    const isWhole = /^DELETE|SET "workspace_key"/.test(made.get('workspaces')?.sql ?? '');
    for (const { table, sql } of isWhole ? [] : made.values())
      if (!found.includes(table)) wrong.push(`not found: ${sql}`);
    const left = (await publish(path, { compare: 'check' })).differences;
    if (left.length > 0) wrong.push(`not repaired: ${[...made.values()].map(({ sql }) => sql).join('; ')}`);
  }
  expect(wrong, `PUBLISH_SEED=${SEED}`).toEqual([]);
  expect(await expectSameViews(connection, reader, 'in the end')).toBeGreaterThan(0);
  close();
});

test('a repair makes a view again that somebody has rewritten, and keeps the rights to it', async () => {
  const path = join(temporaryFolder(), 'ledger.db');
  const memory = await buildRichLedger();
  memory.exec(`VACUUM INTO '${path}'`);
  memory.close();
  const { connection, close } = openReader(path);
  const { publish, reader } = await copies.open();
  await publish(path);
  await reader.query('CREATE ROLE keeps_rights; GRANT SELECT ON finance_usage TO keeps_rights');
  await reader.query(
    "DO $$ BEGIN EXECUTE format('CREATE OR REPLACE VIEW finance_usage AS SELECT * FROM (%s) q LIMIT 1', rtrim(pg_get_viewdef('finance_usage'), ';')); END $$",
  );
  await publish(path, { compare: 'repair' });
  await expectSameViews(connection, reader, 'made again');
  expect(await reader.query("SELECT has_table_privilege('keeps_rights', 'finance_usage', 'SELECT') AS may")).toEqual([
    { may: true },
  ]);
  close();
});

/** Makes the edit. False where the database refuses it, or nothing is otherwise afterwards. */
async function changes(reader: Reader, { table, sql }: Edit): Promise<boolean> {
  const rows = async (): Promise<string> =>
    JSON.stringify(await reader.query(`SELECT * FROM ${table} t ORDER BY t`), plain);
  const before = await rows();
  try {
    await reader.query(sql);
  } catch {
    return false;
  }
  return (await rows()) !== before;
}

function plain(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
