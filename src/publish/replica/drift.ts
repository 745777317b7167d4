import type { ReplicaClient } from '../connect.ts';
import { isRefusal } from '../replica-error.ts';
import { columnsInPostgres, MIRRORS, type Mirror } from './mirrors.ts';
import { INDEXES, type NamedStatement, OWN, OWN_TABLES, VIEWS } from './statements.ts';

/** What the replica's schema has otherwise than this version makes it. */
export interface Drift {
  /** Mirrors that lack nothing but columns which may be null: these. */
  short: readonly { mirror: Mirror; missing: readonly string[] }[];
  /** Mirrors that are not there, or are others. */
  strange: readonly Mirror[];
  /** Views in the order in which they are made; compared only where the tables are right. */
  views: readonly NamedStatement[];
  /** Statements that drop relations of another kind under our names, or tables of our own with other columns. */
  drops: readonly string[];
  /** Statements that end what hides rows or changes them before they are written. */
  ends: readonly string[];
  /** All of it in words, such as `table runs is missing`. */
  words: readonly string[];
}

interface Relation {
  name: string;
  /** As `pg_class.relkind` names it. */
  kind: string;
  columns: string[];
  key: string[] | null;
}

const KINDS: Readonly<Record<string, string>> = {
  ...{ r: 'TABLE', p: 'TABLE', v: 'VIEW', m: 'MATERIALIZED VIEW', f: 'FOREIGN TABLE', S: 'SEQUENCE' },
  ...{ i: 'INDEX', I: 'INDEX' },
};
const HERE = 'current_schema()::regnamespace';

/** Within a transaction. What somebody added beside ours is left alone. */
export async function findDrift(client: ReplicaClient): Promise<Drift> {
  const schema = new FoundSchema(await readRelations(client, HERE));
  const { short, strange } = compareMirrors(schema);
  const hasOwn = await compareOwn(client, schema);
  for (const { name } of INDEXES) {
    if (schema.get('INDEX', name) === undefined) schema.sayMissing('index', name);
  }
  for (const { name } of VIEWS) schema.get('VIEW', name);
  const interference = await readInterference(client);
  schema.words.push(...interference.map(({ words }) => words));
  const views = short.length + strange.length === 0 && hasOwn ? await strangeViews(client) : [];
  for (const { name } of views) {
    if (schema.get('VIEW', name) === undefined) schema.sayMissing('view', name);
    else schema.words.push(`view ${name} is not the one of this version`);
  }
  const { words, drops } = schema;
  return { short, strange, views, drops: [...drops.values()], ends: interference.map(({ end }) => end), words };
}

/** The relations of the schema, and what was found to be wrong with them. */
class FoundSchema {
  readonly words: string[] = [];
  readonly drops = new Map<string, string>();
  readonly #relations: ReadonlyMap<string, Relation>;

  constructor(relations: readonly Relation[]) {
    this.#relations = new Map(relations.map((relation) => [relation.name, relation]));
  }

  /** Unless it is of another kind, which is to be dropped. */
  get(kind: 'TABLE' | 'VIEW' | 'INDEX', name: string): Relation | undefined {
    const there = this.#relations.get(name);
    if (there === undefined || KINDS[there.kind] === kind) return there;
    if (!this.drops.has(name))
      this.words.push(`${kind.toLowerCase()} ${name} is a ${KINDS[there.kind]?.toLowerCase()}`);
    this.drops.set(name, `DROP ${KINDS[there.kind]} ${name}`);
    return undefined;
  }

  sayMissing(sort: string, name: string): void {
    if (!this.#relations.has(name)) this.words.push(`${sort} ${name} is missing`);
  }

  sayColumns(name: string, missing: readonly string[]): void {
    const fault = missing.length === 0 ? 'has another key' : `has no ${missing.join(', ')} of this version`;
    this.words.push(`table ${name} ${fault}`);
  }
}

function compareMirrors(schema: FoundSchema): Pick<Drift, 'short' | 'strange'> {
  const short: { mirror: Mirror; missing: string[] }[] = [];
  const strange: Mirror[] = [];
  for (const mirror of MIRRORS) {
    const there = schema.get('TABLE', mirror.name);
    const expected = columnsInPostgres(mirror);
    const missing = [...expected.keys()].filter((name) => !there?.columns.includes(`${name} ${expected.get(name)}`));
    const isSameKey = there?.key?.join() === ['ledger_key', ...mirror.key].join();
    if (missing.length === 0 && isSameKey) continue;
    const has = (name: string): boolean => there?.columns.some((column) => column.startsWith(`${name} `)) === true;
    const canBeAdded = missing.every((name) => !has(name) && !expected.get(name)?.endsWith('NOT NULL'));
    if (isSameKey && canBeAdded) short.push({ mirror, missing });
    else strange.push(mirror);
    if (there === undefined) schema.sayMissing('table', mirror.name);
    else schema.sayColumns(mirror.name, missing);
  }
  return { short, strange };
}

/** Whether the tables beside the mirrors are those of this version. */
async function compareOwn(client: ReplicaClient, schema: FoundSchema): Promise<boolean> {
  await client.query('SAVEPOINT own');
  for (const { sql } of OWN) await client.query(sql.replace('CREATE TABLE IF NOT EXISTS ', 'CREATE TEMP TABLE own_'));
  const expected = new Map((await readRelations(client, 'pg_my_temp_schema()')).map((own) => [own.name, own]));
  await client.query('ROLLBACK TO SAVEPOINT own');
  let isSame = true;
  for (const name of OWN_TABLES) {
    const { columns = [], key = null } = expected.get(`own_${name}`) ?? {};
    const there = schema.get('TABLE', name);
    const missing = columns.filter((column) => there?.columns.includes(column) !== true);
    if (missing.length === 0 && there?.key?.join() === key?.join()) continue;
    isSame = false;
    if (there === undefined) {
      schema.sayMissing('table', name);
      continue;
    }
    const names = missing.map((column) => column.split(' ')[0] ?? '');
    schema.sayColumns(name, names);
    schema.drops.set(name, `DROP TABLE ${name}`);
  }
  return isSame;
}

const TABLES = [...MIRRORS.map(({ name }) => name), ...OWN_TABLES];

/** What hides rows from the tables' owner, or changes what is written to them. Triggers that only look on are nobody's harm. */
function readInterference(client: ReplicaClient): Promise<{ words: string; end: string }[]> {
  return client.query(
    `SELECT format('table %s has a %s %I that changes what is written', c.relname, lower(x.sort), x.name) AS words,
       format('DROP %s %I ON %I', x.sort, x.name, c.relname) AS end
     FROM pg_class c JOIN (
       SELECT tgrelid AS relation, 'TRIGGER' AS sort, tgname AS name FROM pg_trigger WHERE NOT tgisinternal AND tgtype::int & 66 <> 0
       UNION ALL SELECT ev_class, 'RULE', rulename FROM pg_rewrite WHERE ev_type <> '1') x ON x.relation = c.oid
     WHERE c.relnamespace = ${HERE} AND c.relname = ANY ($1)
     UNION ALL
     SELECT format('table %s hides rows from its owner by row-level security', relname),
       format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', relname)
     FROM pg_class WHERE relnamespace = ${HERE} AND relname = ANY ($1) AND relforcerowsecurity ORDER BY 1`,
    [TABLES],
  );
}

/** Every relation of a schema; its columns as `columnsInPostgres` says them. */
function readRelations(client: ReplicaClient, schema: string): Promise<Relation[]> {
  return client.query<Relation>(
    `SELECT c.relname AS name, c.relkind::text AS kind,
       array_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
         || CASE WHEN o.collname = 'C' THEN ' COLLATE "C"' ELSE '' END || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
       )::text[] AS columns,
       (SELECT array_agg(b.attname ORDER BY array_position(i.indkey::int2[], b.attnum))::text[] FROM pg_index i
        JOIN pg_attribute b ON b.attrelid = c.oid AND b.attnum = ANY (i.indkey)
        WHERE i.indrelid = c.oid AND i.indisprimary) AS key
     FROM pg_class c
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     LEFT JOIN pg_collation o ON o.oid = a.attcollation
     WHERE c.relnamespace = ${schema} GROUP BY c.oid, c.relname, c.relkind`,
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
        `SELECT relkind = 'v' AND reloptions IS NULL
           AND pg_get_viewdef('pg_temp.expected_${view.name}'::regclass) = pg_get_viewdef(oid) AS same
         FROM pg_class WHERE oid = to_regclass('${view.name}')`,
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
