import { hash } from 'node:crypto';
import type pg from 'pg';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { escapeNul } from './in-postgres.ts';
import { COPIED_TABLES, type CopiedTable, offsetOf, valuesOf } from './tables.ts';

/** What one table has of one workspace and period: whole numbers, exact, as text. */
export interface Sums {
  rows: string;
  credits: string;
  requests: string;
  amount_minor: string;
  /** The sum of a hash of each row, over all of its columns. */
  content: string;
}

/** A table, workspace and period of which the ledger and Postgres do not have the same rows; null: none at all. */
export interface Difference {
  table: string;
  /** The keys of workspace and period, see `unitOf`. */
  unit: string;
  here: Sums | null;
  there: Sums | null;
}

const SUMMED: Readonly<Record<string, RegExp>> = {
  credits: /^credits(_used|_delta)?$/,
  requests: /^request(_count|s_delta)$/,
  amount_minor: /^amount_minor$/,
};
/** Hexadecimal digits of a row's hash, as many as a number of JavaScript holds. */
const HASH_DIGITS = 13;

/** The workspace and period that a row counts to, `3:393216`, in SQL; `offsets` are those of the copy's keys. */
export function unitOf({ workspace, period }: CopiedTable, offsets: readonly bigint[] = []): string {
  const [ofWorkspace = 0n, ofPeriod = 0n] = offsets;
  const periodKey = period === '0' ? '0' : `((${period}) - ${ofPeriod})`;
  return `coalesce((${workspace}) - ${ofWorkspace}, 0) || ':' || ${periodKey}`;
}

/** Compares all rows of these workspaces, within the snapshot and the transaction that are under way. */
export async function compareCopy(
  connection: LedgerDb,
  client: pg.Client,
  ledgerKey: number,
  workspaceKeys: readonly number[],
): Promise<Difference[]> {
  addFunctions(connection);
  const differences: Difference[] = [];
  for (const table of COPIED_TABLES) {
    const here = byUnit(connection.prepare(sumsHere(table, ledgerKey, workspaceKeys)).all());
    const there = byUnit((await client.query(sumsThere(table, ledgerKey), [ledgerKey])).rows);
    for (const unit of new Set([...here.keys(), ...there.keys()])) {
      const [ours, theirs] = [here.get(unit) ?? null, there.get(unit) ?? null];
      if (JSON.stringify(ours) === JSON.stringify(theirs)) continue;
      differences.push({ table: table.name, unit, here: ours, there: theirs });
    }
  }
  return differences;
}

function sumsHere(table: CopiedTable, ledgerKey: number, workspaceKeys: readonly number[]): string {
  const sums = sumsOf(table, (column) => `exact_sum(${column})`);
  return `SELECT ${unitOf(table)} AS unit, CAST(count(*) AS TEXT) AS rows, ${sums},
      hash_sum(${valuesOf(table, ledgerKey).join(' || char(9) || ')}) AS content
    FROM ${table.name} r WHERE coalesce(${table.workspace}, 0) IN (${workspaceKeys.join(', ')}) GROUP BY 1`;
}

function sumsThere(table: CopiedTable, ledgerKey: number): string {
  const sums = sumsOf(table, (column) => `coalesce(sum(${column}), 0)::text`);
  const values = table.columns.map(({ name }) => `coalesce(r."${name}"::text, '\\N')`);
  const digits = `left(encode(sha256(convert_to(${values.join(` || E'\\t' || `)}, 'UTF8')), 'hex'), ${HASH_DIGITS})`;
  const offsets = ['workspace_key', 'period_key'].map((column) => offsetOf(column, ledgerKey) ?? 0n);
  return `SELECT ${unitOf(table, offsets)} AS unit, count(*)::text AS rows, ${sums},
      sum(('x' || ${digits})::bit(${HASH_DIGITS * 4})::bigint)::text AS content
    FROM ${table.name} r WHERE r.ledger_key = $1 GROUP BY 1`;
}

function sumsOf({ columns }: CopiedTable, sum: (column: string) => string): string {
  const sums = Object.entries(SUMMED).map(([name, pattern]) => {
    const column = columns.find((one) => pattern.test(one.name));
    return `${column === undefined ? "'0'" : sum(`r.${column.name}`)} AS ${name}`;
  });
  return sums.join(', ');
}

function byUnit(rows: readonly unknown[]): Map<string, Sums> {
  return new Map((rows as (Sums & { unit: string })[]).map(({ unit, ...sums }) => [unit, sums]));
}

/** Sums that never overflow, and a row's hash as Postgres makes it. */
function addFunctions(connection: LedgerDb): void {
  connection.aggregate('exact_sum', {
    safeIntegers: true,
    start: 0n,
    step: (sum: bigint, value: unknown) => sum + BigInt((value as bigint | null) ?? 0n),
    result: String,
  });
  connection.aggregate('hash_sum', {
    start: 0n,
    step: (sum: bigint, row: unknown) => {
      const digits = hash('sha256', escapeNul(String(row)), 'hex').slice(0, HASH_DIGITS);
      return sum + BigInt(Number.parseInt(digits, 16));
    },
    result: String,
  });
}
