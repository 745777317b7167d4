import { expect } from 'vitest';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import type { Reader } from '../support/postgres.ts';

type Row = Record<string, unknown>;

/** Beyond this many hundredths of a percent a double has no digit left for them. */
const EXACT_HUNDREDTHS = 2 ** 53;

/** A few operations on doubles are right to a part in so many. */
const DOUBLE_DIGITS = 2n ** 50n;

/** Every view of the ledger, as SQLite knows them; what an outlet does, and budgets, are this machine's own, and not copied. */
export function financeViews(connection: LedgerDb): string[] {
  return connection
    .prepare(
      `SELECT name FROM sqlite_schema WHERE type = 'view' AND name LIKE 'finance\\_%' ESCAPE '\\'
         AND name NOT IN ('finance_budgets', 'finance_outlet_events') ORDER BY name`,
    )
    .pluck()
    .all() as string[];
}

/** Expects each view in Postgres to have the ledger's rows, with the same columns after `ledger_id`. Returns how many. */
export async function expectSameViews(connection: LedgerDb, client: Reader, where: string): Promise<number> {
  const id = connection.prepare("SELECT value FROM ledger_meta WHERE name = 'ledger_id'").pluck().get();
  let compared = 0;
  for (const view of financeViews(connection)) {
    const here = connection.prepare(`SELECT * FROM ${view}`).safeIntegers();
    const there = await client.query<Row>(`SELECT * FROM ${view} WHERE ledger_id = $1`, [id]);
    const ours = sorted((here.all() as Row[]).map(plain));
    const theirs = sorted(there.map(({ ledger_id: _, ...row }) => plain(row)));
    expect(theirs.map(withoutPercent), `${where}: ${view}`).toEqual(ours.map(withoutPercent));
    for (const [index, row] of ours.entries()) expectSamePercent(row, theirs[index] ?? {}, `${where}: ${view}`);
    compared += ours.length;
  }
  return compared;
}

/** The texts, numbers and JSON of SQLite for the types of Postgres. */
function plain(row: Row): Row {
  const values = Object.entries(row).map(([name, value]) => {
    if (value instanceof Date) return [name, value.toISOString()];
    if (typeof value === 'boolean') return [name, value ? 1n : 0n];
    if (value === null || typeof value !== 'string') return [name, value];
    if (['labels', 'overridden', 'figures', 'amounts'].includes(name)) return [name, JSON.parse(value)];
    if (name === 'projection') return [name, BigInt(value)];
    return [name, ['amount', 'unit_price'].includes(name) ? plainNumber(value) : value];
  });
  return Object.fromEntries(values);
}

function withoutPercent({ change_percent: _, ...row }: Row): Row {
  return row;
}

/** A decimal without the zeros at its end. */
function plainNumber(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** By everything but the percentage, whose text differs. */
function sorted(rows: readonly Row[]): Row[] {
  const text = (row: Row): string =>
    JSON.stringify(withoutPercent(row), (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
  return rows
    .map((row) => ({ row, key: text(row) }))
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ row }) => row);
}

/**
 * Postgres rounds the exact quotient, SQLite the nearest double: they part by a hundredth where the quotient lies half-way
 * between two, and where a double has no hundredths any more.
 */
function expectSamePercent(ours: Row, theirs: Row, where: string): void {
  const here = ours.change_percent;
  const there = theirs.change_percent;
  if (here === undefined || here === null) {
    expect(there, where).toEqual(here);
    return;
  }
  const [a, b] = [Number(here), Number(there)];
  if (a === b) return;
  const previous = BigInt((ours.previous_credits ?? ours.previous_credits_same_point) as bigint);
  const change = BigInt(ours.credits_change as bigint);
  const size = previous < 0n ? -previous : previous;
  const twice = (change < 0n ? -change : change) * 20_000n;
  const fromHalf = (twice % (2n * size)) - size;
  // Or so near to it that the nearest double may lie on the other side.
  const isHalfWay = (fromHalf < 0n ? -fromHalf : fromHalf) * DOUBLE_DIGITS <= twice;
  const isCoarse = Math.abs(a) * 100 >= EXACT_HUNDREDTHS / 16;
  expect(isHalfWay || isCoarse, `${where}: ${a} and ${b} percent`).toBe(true);
  // A quotient may be both.
  const most = Math.max(isHalfWay ? 0.0101 : 0, isCoarse ? Math.abs(a) * 1e-15 : 0);
  expect(Math.abs(a - b), where).toBeLessThan(most);
}
