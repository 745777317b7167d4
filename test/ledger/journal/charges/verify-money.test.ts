import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { RateCardText } from '../../../../src/billing/rates/rate-card-schema.ts';
import { checkMoney } from '../../../../src/ledger/audit/money/verify-money.ts';
import { checkControls, verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { setCards } from '../../../../src/ledger/journal/charges/charge-run.ts';
import { addLine, revokeLine } from '../../../../src/ledger/journal/charges/manual-lines.ts';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import {
  closeMonth,
  dropTriggers,
  openLedger,
  publish,
  reopenMonth,
  usageRecord,
} from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const CARD: RateCardText = {
  name: 'standard',
  from_period: '2026-01',
  currency: 'EUR',
  graduated: [{ up_to: 100, price_per_credit: '0.05' }, { price_per_credit: '0.01' }],
  discount_percent: '10',
};

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
            : [...checkMoney(copy), ...checkControls(copy)];
          const names = [
            ...tenantsOf(connection, row),
            'close of 2026-01',
            'correction ',
            'line by hand ',
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

test('a card that was changed past the program no longer gives the charges that stand', async () => {
  const connection = await buildChargedLedger();
  dropTriggers(connection);
  expect(carryOut(connection, `UPDATE rate_cards SET definition = replace(definition, '0.05', '0.06')`)).toBe(true);
  expect(checkMoney(connection)[0]).toMatchObject({
    check: 'money',
    message: '2026-01 of tenant "acme" in workspace "ws-1" is not charged what its rate card says',
  });
});

/** Charges of open and closed periods, of several lines and of one, corrections of two kinds, lines by hand of three, and a second close. */
async function buildChargedLedger(): Promise<LedgerDb> {
  const { connection } = openLedger();
  let nowMs = NOON;
  const figures = new Map<string, number>();
  const put = async (credits: Record<string, number>): Promise<void> => {
    for (const [key, value] of Object.entries(credits)) figures.set(key, value);
    nowMs += 60_000;
    const records = [...figures].map(([key, value]) => {
      const [period = '', tenant = ''] = key.split(' ');
      return usageRecord(tenant, value, period);
    });
    await publish(connection, records, { nowMs });
  };
  setCards(connection, { cards: [CARD], source: 'import', nowMs });
  await put({ '2026-01 acme': 150, '2026-01 globex': 70, '2026-02 acme': 300, '2026-02 idle': 0, '2026-03 acme': 10 });
  const ada = { workspaceId: 'ws-1', tenantId: 'acme', currency: 'EUR', by: 'Ada', nowMs };
  addLine(connection, { ...ada, period: '2026-01', amountMinor: -1250n, reason: 'goodwill' });
  closeMonth(connection, '2026-01', nowMs);
  const late = addLine(connection, { ...ada, period: '2026-01', amountMinor: 4900n, reason: 'set-up' });
  addLine(connection, { ...ada, period: '2026-02', amountMinor: 100n, reason: 'fee' });
  await put({ '2026-01 acme': 170, '2026-01 late': 5 });
  reopenMonth(connection, '2026-01', nowMs + 1);
  closeMonth(connection, '2026-01', nowMs);
  revokeLine(connection, { lineId: late.lineId, by: 'Bo', reason: 'a slip', nowMs });
  await put({ '2026-01 globex': 80 });
  return connection;
}

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

/** False where a key of SQLite's own forbids it. */
function carryOut(connection: LedgerDb, sql: string): boolean {
  connection.pragma('foreign_keys = OFF');
  try {
    connection.exec(sql);
    return true;
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_CONSTRAINT')) return false;
    throw error;
  }
}

/** The tenants that an edit of a row can be about: its own, and those next to it. */
function tenantsOf(connection: LedgerDb, { tenant_key: tenantKey = null }: Values): string[] {
  if (tenantKey === null) return [];
  const ids = connection.prepare('SELECT tenant_id FROM tenants WHERE tenant_key IN (2, @key, @key + 1)').pluck();
  return (ids.all({ key: tenantKey }) as string[]).map((id) => JSON.stringify(id));
}
