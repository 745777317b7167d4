import { expect, test } from 'vitest';
import { financeViews, viewColumns, viewSheet } from '../../src/reports/queries/finance-view.ts';
import { buildRichLedger } from '../ledger/audit/verify/tamper/rich-ledger.ts';

/** What SQLite may hold in a column of a kind. */
const HELD = {
  text: ['string'],
  integer: ['bigint'],
  decimal: ['string'],
  real: ['number'],
  time: ['string'],
  flag: ['bigint'],
} as const;

test('each column of each view holds what it is said to hold, and gives all rows', async () => {
  const connection = await buildRichLedger();
  for (const view of financeViews(connection)) {
    const columns = viewColumns(connection, view);
    const rows = [...viewSheet(connection, view).rows];
    expect(rows.length, view).toBe(connection.prepare(`SELECT count(*) FROM ${view}`).pluck().get());
    for (const row of rows) {
      columns.forEach(({ name, kind }, index) => {
        const value = row[index];
        const where = `${view}.${name}`;
        if (value === null) return;
        expect([where, HELD[kind]]).toEqual([where, expect.arrayContaining([typeof value])]);
        if (kind === 'flag') expect([0n, 1n], where).toContain(value);
        if (kind === 'time') expect(String(value), where).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
        if (kind === 'text') expect(String(value), where).not.toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      });
    }
  }
});
