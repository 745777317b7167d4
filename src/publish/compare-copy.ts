import { hash } from 'node:crypto';
import type pg from 'pg';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { escapeNul } from './in-postgres.ts';
import { COPIED_TABLES, type CopiedTable, keyOffset, valueExpressions } from './tables.ts';

/**
 * Totals of the rows of a table that belong to one workspace and period. Each total is an exact integer in text form.
 */
export interface CopiedTableTotals {
  rows: string;
  credits: string;
  requests: string;
  amount_minor: string;
  /** Sum of the hashes of all rows. A row's hash covers all of its columns. */
  content: string;
}

/**
 * A table, workspace and period whose rows differ between the ledger and Postgres. `inLedger` or `inPostgres` is null
 * if there are no such rows there.
 */
export interface CopyDifference {
  table: string;
  /**
   * The keys of the workspace and the period, such as `3:393216`. A key is 0 if the rows belong to no workspace or
   * period.
   */
  unit: string;
  inLedger: CopiedTableTotals | null;
  inPostgres: CopiedTableTotals | null;
}

const SUMMED_COLUMNS: Readonly<Record<string, RegExp>> = {
  credits: /^credits(_used|_delta)?$/,
  requests: /^request(_count|s_delta)$/,
  amount_minor: /^amount_minor$/,
};
/** Number of hexadecimal digits of a row's hash that are used: 13 digits fit exactly into a JavaScript number. */
const HASH_DIGITS = 13;

/**
 * Returns an SQL expression for the keys of a row's workspace and period, such as `3:393216`. For a table in Postgres,
 * `offsets` are the numbers that the copy adds to both keys.
 */
export function unitSql({ workspace, period }: CopiedTable, offsets: readonly bigint[] = []): string {
  const [workspaceOffset = 0n, periodOffset = 0n] = offsets;
  const periodKey = period === '0' ? '0' : `((${period}) - ${periodOffset})`;
  return `coalesce((${workspace}) - ${workspaceOffset}, 0) || ':' || ${periodKey}`;
}

/**
 * Compares all rows of these workspaces in the ledger and in Postgres. Needs an open read transaction on `connection`
 * and an open transaction on `client`.
 */
export async function findCopyDifferences(
  connection: LedgerDb,
  client: pg.Client,
  ledgerKey: number,
  workspaceKeys: readonly number[],
): Promise<CopyDifference[]> {
  addFunctions(connection);
  const differences: CopyDifference[] = [];
  for (const table of COPIED_TABLES) {
    const inLedger = groupByUnit(connection.prepare(totalsInLedger(table, ledgerKey, workspaceKeys)).all());
    const inPostgres = groupByUnit((await client.query(totalsInPostgres(table, ledgerKey), [ledgerKey])).rows);
    for (const unit of new Set([...inLedger.keys(), ...inPostgres.keys()])) {
      const [ours, theirs] = [inLedger.get(unit) ?? null, inPostgres.get(unit) ?? null];
      if (JSON.stringify(ours) === JSON.stringify(theirs)) continue;
      differences.push({ table: table.name, unit, inLedger: ours, inPostgres: theirs });
    }
  }
  return differences;
}

function totalsInLedger(table: CopiedTable, ledgerKey: number, workspaceKeys: readonly number[]): string {
  const sums = sumColumns(table, (column) => `exact_sum(${column})`);
  return `SELECT ${unitSql(table)} AS unit, CAST(count(*) AS TEXT) AS rows, ${sums},
      hash_sum(${valueExpressions(table, ledgerKey).join(' || char(9) || ')}) AS content
    FROM ${table.name} r WHERE coalesce(${table.workspace}, 0) IN (${workspaceKeys.join(', ')}) GROUP BY 1`;
}

function totalsInPostgres(table: CopiedTable, ledgerKey: number): string {
  const sums = sumColumns(table, (column) => `coalesce(sum(${column}), 0)::text`);
  const values = table.columns.map(({ name }) => `coalesce(r."${name}"::text, '\\N')`);
  const digits = `left(encode(sha256(convert_to(${values.join(` || E'\\t' || `)}, 'UTF8')), 'hex'), ${HASH_DIGITS})`;
  const offsets = ['workspace_key', 'period_key'].map((column) => keyOffset(column, ledgerKey) ?? 0n);
  return `SELECT ${unitSql(table, offsets)} AS unit, count(*)::text AS rows, ${sums},
      sum(('x' || ${digits})::bit(${HASH_DIGITS * 4})::bigint)::text AS content
    FROM ${table.name} r WHERE r.ledger_key = $1 GROUP BY 1`;
}

function sumColumns({ columns }: CopiedTable, sum: (column: string) => string): string {
  const sums = Object.entries(SUMMED_COLUMNS).map(([name, pattern]) => {
    const column = columns.find((one) => pattern.test(one.name));
    return `${column === undefined ? "'0'" : sum(`r.${column.name}`)} AS ${name}`;
  });
  return sums.join(', ');
}

function groupByUnit(rows: readonly unknown[]): Map<string, CopiedTableTotals> {
  return new Map((rows as (CopiedTableTotals & { unit: string })[]).map(({ unit, ...sums }) => [unit, sums]));
}

/**
 * Adds two functions to SQLite: a sum that never overflows, and a sum of row hashes. For equal rows, Postgres computes
 * the same sum of hashes.
 */
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
