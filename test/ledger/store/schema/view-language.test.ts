import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { migrateInMemory } from '../../../../src/ledger/store/schema/migrate.ts';

/**
 * What SQLite 3.37 has of what our views use, as its documentation says: the oldest that opens the tables. `json_extract` was
 * an option until 3.38; without it one view, `finance_rate_cards`, cannot be read.
 */
const FUNCTIONS = ['abs', 'coalesce', 'count', 'json_extract', 'max', 'min', 'round', 'strftime', 'substr', 'sum'];
/** Words that may stand before a parenthesis. */
const WORDS = [
  'and',
  'as',
  'else',
  'exists',
  'from',
  'in',
  'materialized',
  'then',
  'when',
  'where',
  'on',
  'join',
  'not',
  'or',
  'select',
  'cast',
];
/** What came later, beside functions: 3.38, 3.39, 3.39, 3.42, 3.44, 3.46. */
const NEWER = [
  /->/,
  /\b(right|full)\s+(outer\s+)?join\b/i,
  /\bis\s+(not\s+)?distinct\b/i,
  /subsec/i,
  /\b(sum|count|max|min)\([^()]*\border by\b/i,
  /\d_\d/,
];
/** Of `strftime`; others came with 3.44 and 3.46. */
const PERCENT = /%[^dfHjJmMsSwWY%]/;

test.each(viewsNow())('%s is written in the SQL of SQLite 3.37', (_, sql) => {
  expect(newerThan337(sql)).toEqual([]);
});

test.each([
  'unixepoch(x)',
  "strftime('%s', x, 'subsec')",
  "labels ->> 'region'",
  'a RIGHT JOIN b ON true',
  'a IS NOT DISTINCT FROM b',
  "strftime('%F', x)",
  'string_agg(name, 1)',
  'if (a, b, c)',
  'x + 1_000',
])('%s counts as newer', (sql) => {
  expect(newerThan337(sql)).not.toEqual([]);
});

function newerThan337(sql: string): string[] {
  const code = sql.replaceAll(/--.*$/gm, '');
  const calls = [...code.matchAll(/\b([a-z_]+)\s*\(/gi)].map(([, name = '']) => name.toLowerCase());
  return [
    ...calls.filter((name) => !FUNCTIONS.includes(name) && !WORDS.includes(name)),
    ...[...NEWER, PERCENT].filter((pattern) => pattern.test(code)).map(String),
  ];
}

function viewsNow(): [name: string, sql: string][] {
  const connection = new Database(':memory:');
  migrateInMemory(connection);
  const views = connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'view'").raw().all();
  connection.close();
  return views as [string, string][];
}
