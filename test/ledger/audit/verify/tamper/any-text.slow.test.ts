import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { checkMoney } from '../../../../../src/ledger/audit/money/verify-money.ts';
import { verifyLedger } from '../../../../../src/ledger/audit/verify/verify.ts';
import { setCards } from '../../../../../src/ledger/journal/charges/charge-run.ts';
import type { LedgerDb } from '../../../../../src/ledger/store/ledger-db.ts';
import { dropTriggers } from '../../../../support/open-ledger.ts';
import { buildRichLedger } from './rich-ledger.ts';

/** SQL of what an adversary writes: broken JSON, JSON of another kind, bytes that are no text, and whatever else. */
const WRITTEN = [
  "''",
  "'{'",
  "'null'",
  "'[]'",
  `'{"tenant":7,"workspace":[],"graduated":5}'`,
  '\'"x"\'',
  "'1e999'",
  "'-9223372036854775808'",
  "'2026-13-45T99:99:99Z'",
  "CAST(x'00eda0bdff' AS TEXT)",
  "replace(hex(zeroblob(40000)), '0', 'é')",
];

/** Of each column some values, of each value some columns: all together take minutes. */
const EVERY = Number(process.env.TAMPER_EVERY ?? 16);

interface Column {
  table: string;
  name: string;
  type: string;
}

test('whatever a text or byte column contains, verify reports its findings and never fails with an error', async () => {
  const connection = await buildRichLedger();
  const card = { name: 'List', from_period: '2025-01', currency: 'EUR', price_per_credit: '0.01' };
  setCards(connection, { cards: [card], source: 'configuration', nowMs: Date.UTC(2026, 1, 5) });
  dropTriggers(connection);
  const bytes = connection.serialize();
  const thrown: string[] = [];
  const columns = columnsOf(connection);
  expect(columns.length).toBeGreaterThan(80);
  columns.forEach(({ table, name, type }, index) => {
    for (const [place, written] of WRITTEN.entries()) {
      if (name !== 'definition' && (place + index) % EVERY !== 0) continue;
      const value = type === 'BLOB' ? `CAST(${written} AS BLOB)` : written;
      const copy: LedgerDb = new Database(bytes);
      copy.pragma('foreign_keys = OFF');
      const change = `UPDATE OR IGNORE ${table} SET ${name} = ${value}`;
      try {
        copy.exec(change);
        verifyLedger(copy, [checkMoney]);
      } catch (error) {
        thrown.push(`${change.slice(0, 120)}: ${error}`);
      }
      copy.close();
    }
  });
  expect(thrown).toEqual([]);
}, 1_800_000);

/** The columns of text or bytes of every table. */
function columnsOf(connection: LedgerDb): Column[] {
  return connection
    .prepare(
      `SELECT s.name AS "table", c.name, upper(c.type) AS type FROM sqlite_schema s, pragma_table_info(s.name) c
       WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite%'
         AND upper(c.type) IN ('TEXT', 'BLOB') ORDER BY s.name, c.cid`,
    )
    .all() as Column[];
}
