import { expect, test } from 'vitest';
import { financeViews, viewColumns, viewSheet } from '../../src/reports/queries/finance-view.ts';
import { buildRichLedger } from '../ledger/audit/verify/tamper/rich-ledger.ts';

/** The check of a value, by the kind of its column. */
const HELD = {
  ...{ id: 'string', text: 'string', date: 'string', day: 'string', amount: 'string', price: 'string' },
  ...{ decimal: 'string', credits: 'bigint', count: 'bigint', double: 'number', flag: 'boolean' },
} as const;

test('each column of each view has values of its kind, and all rows are returned', async () => {
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
        expect([where, typeof value]).toEqual([where, HELD[kind]]);
        if (kind === 'day') expect(String(value), where).toMatch(/^\d{4}-\d\d-\d\d$/);
        if (kind === 'date') expect(String(value), where).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
        if (kind === 'text' || kind === 'id') expect(String(value), where).not.toMatch(/^\d{4}-\d\d-\d\d/);
      });
    }
  }
});
