import type { ReplicaClient } from '../connect.ts';
import { isRefusal } from '../replica-error.ts';
import { columnsInPostgres, MIRRORS, type Mirror } from './mirrors.ts';
import { INDEXES, type NamedStatement, OWN_TABLES, VIEWS } from './statements.ts';

/** What the replica's schema has otherwise than this version makes it. */
export interface Drift {
  /** Mirrors that lack nothing but columns which may be null: these. */
  short: readonly { mirror: Mirror; missing: readonly string[] }[];
  /** Mirrors that are not there, or are others. */
  strange: readonly Mirror[];
  /** Views in the order in which they are made; compared only where the tables are right. */
  views: readonly NamedStatement[];
  /** All of it in words, such as `table runs is missing`. */
  words: readonly string[];
}

interface Relation {
  name: string;
  columns: string[];
  key: string[] | null;
}

/** Within a transaction. What somebody added beside ours is left alone. */
export async function findDrift(client: ReplicaClient): Promise<Drift> {
  const found = new Map((await readRelations(client)).map((relation) => [relation.name, relation]));
  const drift = {
    short: [] as { mirror: Mirror; missing: string[] }[],
    strange: [] as Mirror[],
    words: [] as string[],
  };
  for (const mirror of MIRRORS) {
    const there = found.get(mirror.name);
    const expected = columnsInPostgres(mirror);
    const missing = [...expected.keys()].filter((name) => !there?.columns.includes(`${name} ${expected.get(name)}`));
    const isSameKey = there?.key?.join() === ['ledger_key', ...mirror.key].join();
    if (missing.length === 0 && isSameKey) continue;
    const has = (name: string): boolean => there?.columns.some((column) => column.startsWith(`${name} `)) === true;
    const canBeAdded = missing.every((name) => !has(name) && !expected.get(name)?.endsWith('NOT NULL'));
    if (isSameKey && canBeAdded) drift.short.push({ mirror, missing });
    else drift.strange.push(mirror);
    const fault = missing.length === 0 ? 'has another key' : `has no ${missing.join(', ')} of this version`;
    drift.words.push(`table ${mirror.name} ${there === undefined ? 'is missing' : fault}`);
  }
  for (const [sort, names] of [
    ['table', OWN_TABLES],
    ['index', INDEXES.map(({ name }) => name)],
  ] as const) {
    for (const name of names) if (!found.has(name)) drift.words.push(`${sort} ${name} is missing`);
  }
  const hasTables = drift.strange.length + drift.short.length === 0 && OWN_TABLES.every((name) => found.has(name));
  const views = hasTables ? await strangeViews(client) : [];
  for (const { name } of views) {
    drift.words.push(`view ${name} is ${found.has(name) ? 'not the one of this version' : 'missing'}`);
  }
  return { ...drift, views };
}

/** Every relation of the schema; its columns as `columnsInPostgres` says them. */
function readRelations(client: ReplicaClient): Promise<Relation[]> {
  return client.query<Relation>(
    `SELECT c.relname AS name,
       array_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
         || CASE WHEN o.collname = 'C' THEN ' COLLATE "C"' ELSE '' END || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
       )::text[] AS columns,
       (SELECT array_agg(b.attname ORDER BY array_position(i.indkey::int2[], b.attnum))::text[] FROM pg_index i
        JOIN pg_attribute b ON b.attrelid = c.oid AND b.attnum = ANY (i.indkey)
        WHERE i.indrelid = c.oid AND i.indisprimary) AS key
     FROM pg_class c
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     LEFT JOIN pg_collation o ON o.oid = a.attcollation
     WHERE c.relnamespace = current_schema()::regnamespace GROUP BY c.oid, c.relname`,
  );
}

/**
 * Views whose definition is not the one of this version: Postgres reads both in the same place, ours under a name that goes with
 * the transaction. The helpers come first: what is made of one that is missing counts as strange, too.
 */
async function strangeViews(client: ReplicaClient): Promise<NamedStatement[]> {
  const strange: NamedStatement[] = [];
  await client.query('SAVEPOINT expected');
  for (const view of VIEWS) {
    try {
      await client.query(view.sql.replace(/^CREATE OR REPLACE VIEW /m, 'CREATE TEMP VIEW expected_'));
      const [row] = await client.query<{ same: boolean | null }>(
        `SELECT pg_get_viewdef('pg_temp.expected_${view.name}'::regclass) = pg_get_viewdef(to_regclass('${view.name}')) AS same`,
      );
      if (row?.same !== true) strange.push(view);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      strange.push(view);
    }
    await client.query('ROLLBACK TO SAVEPOINT expected');
  }
  return strange;
}
