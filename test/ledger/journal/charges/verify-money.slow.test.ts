import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { checkMoney } from '../../../../src/ledger/audit/money/verify-money.ts';
import { checkGuardedRows, verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import { dropTriggers } from '../../../support/open-ledger.ts';
import { buildChargedLedger, carryOut } from './charged-ledger.ts';

type Values = Record<string, string | number | null>;

/** Every column of every row of what is charged, one edit each, and each row gone, and one too many. */
test('any edit of a charge, a line, a correction or a commitment is found, and the first fault names tenant or period', async () => {
  const connection = await buildChargedLedger();
  expect(checkMoney(connection)).toEqual([]);
  dropTriggers(connection);
  // The bytes of a file in WAL mode cannot be opened in memory.
  connection.pragma('journal_mode = DELETE');
  const bytes = connection.serialize();
  const missed: string[] = [];
  let edits = 0;
  for (const table of ['charges', 'charge_lines', 'charge_corrections', 'manual_lines', 'close_commitments']) {
    const rows = connection.prepare(`SELECT * FROM ${table}`).all() as Values[];
    expect(rows.length, table).toBeGreaterThan(0);
    for (const row of rows) {
      for (const { sql, what } of editsOf(table, row)) {
        const copy = new Database(bytes);
        if (carryOut(copy, sql)) {
          edits += 1;
          // A commitment is part of its close's line in the chain, but for what is no digit in its salt.
          const isChained = table === 'close_commitments';
          const [first] = isChained
            ? verifyLedger(copy).faults.filter(({ check }) => ['chain', 'closes'].includes(check))
            : [...checkMoney(copy), ...checkGuardedRows(copy)];
          const names = [
            ...tenantsOf(connection, row),
            'close of 2026-01',
            'correction ',
            'manual line ',
            'of manual_lines',
          ];
          if (first === undefined) missed.push(`${table}: ${what} is not found`);
          else if (!names.some((name) => first.message.includes(name))) missed.push(`${what}: ${first.message}`);
        }
        copy.close();
      }
    }
  }
  expect(edits).toBeGreaterThan(100);
  expect(missed).toEqual([]);
});

function editsOf(table: string, row: Values): { sql: string; what: string }[] {
  const text = (value: string | number | null | undefined) =>
    typeof value === 'string' ? `'${value}'` : String(value ?? 'NULL');
  const where = Object.entries(row)
    .map(([column, value]) => `${column} IS ${text(value)}`)
    .join(' AND ');
  const columns = Object.keys(row).join(', ');
  const edits = Object.entries(row).map(([column, value]) => {
    const other = typeof value === 'number' ? value + 1 : value === null ? 1 : `${value}0`;
    return { sql: `UPDATE ${table} SET ${column} = ${text(other)} WHERE ${where}`, what: `${column} of ${where}` };
  });
  const keys = { close_commitments: 'event_seq', charge_corrections: 'correction_id', manual_lines: 'line_id' };
  const key = { ...keys }[table] ?? 'tenant_key';
  const copied = Object.entries(row).map(([column, value]) =>
    column === key ? (key === 'tenant_key' ? '2' : '99') : text(value),
  );
  return [
    ...edits,
    { sql: `DELETE FROM ${table} WHERE ${where}`, what: `deletion of ${where}` },
    ...(key === 'event_seq'
      ? []
      : [{ sql: `INSERT INTO ${table} (${columns}) VALUES (${copied.join(', ')})`, what: `a copy of ${where}` }]),
  ];
}

/** The tenants that an edit of a row can be about: its own, and those next to it. */
function tenantsOf(connection: LedgerDb, { tenant_key: tenantKey = null }: Values): string[] {
  if (tenantKey === null) return [];
  const ids = connection.prepare('SELECT tenant_id FROM tenants WHERE tenant_key IN (2, @key, @key + 1)').pluck();
  return (ids.all({ key: tenantKey }) as string[]).map((id) => JSON.stringify(id));
}
