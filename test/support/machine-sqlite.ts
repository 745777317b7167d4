import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';

/** A hundredth: older libraries round what lies half-way by the nearest double; and they print 15 digits. */
const ROUNDING = 0.0101;
const DIGITS = 1e-14;

/** Expects the machine's own `sqlite3`, an older library than ours, to read the same rows of every finance view. Returns how many. */
export function expectSameInOlderSqlite(connection: LedgerDb, path: string): Record<string, number> {
  const [theirs, ours] = [
    read(path, 'SELECT sqlite_version()'),
    connection.prepare('SELECT sqlite_version()').pluck().get(),
  ];
  expect(theirs, 'the comparison needs two libraries').not.toBe(ours);
  const views = connection
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'view' AND name LIKE 'finance\\_%' ESCAPE '\\' ORDER BY name")
    .pluck()
    .all() as string[];
  const found: Record<string, number> = {};
  for (const view of views) {
    const columns = (connection.pragma(`table_info(${view})`) as { name: string }[]).map(({ name }) => name);
    const sql = `SELECT json_array(${columns.map(asText).join(', ')}) FROM ${view} ORDER BY 1`;
    const here = (connection.prepare(sql).pluck().all() as string[]).map(parse);
    const there = read(path, sql).split('\n').filter(Boolean).map(parse);
    expect(there, `${view} as SQLite ${theirs} reads it`).toEqual(here.map((row) => row.map(nearly)));
    found[view] = here.length;
  }
  return found;
}

/** Integers as text, since JSON has none of 64 bits. */
function asText(column: string): string {
  return `CASE typeof("${column}") WHEN 'integer' THEN CAST("${column}" AS TEXT) ELSE "${column}" END`;
}

function nearly(value: unknown): unknown {
  return typeof value === 'number'
    ? expect.toSatisfy((other) => Math.abs(Number(other) - value) <= Math.max(ROUNDING, Math.abs(value) * DIGITS))
    : value;
}

function parse(text: string): unknown[] {
  return JSON.parse(text) as unknown[];
}

function read(path: string, sql: string): string {
  return execFileSync('sqlite3', ['-batch', '-readonly', path, sql], { encoding: 'utf8' }).trim();
}
