import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openReader } from '../../src/ledger/store/file/open.ts';
import { type ViewPlace, viewPage, viewSheet } from '../../src/reports/queries/finance-view.ts';
import { copiesOf, createWorld, FIRST, row } from '../commands/world.ts';

const TENANTS = ['', 'é', '0', 'a', 'a b', 'aa', 'b', 'c', 'Z', 'z', 'zz', '\u{1f600}'].map((id) => `t${id}`);
const CARD = { name: 'flat', currency: 'EUR', from_period: '2025-12', price_per_credit: '0.01', tenant: 't*a*' };

/** Twelve tenants, some of them without usage in a month, and some with several changes. Few have a price. */
const worldOfMany = copiesOf(async () => {
  const usage = TENANTS.flatMap((tenant, index) => [
    ...(index % 3 === 0 ? [] : [row(tenant, '2026-01', 100 * index)]),
    row(tenant, '2026-02', 100 + index),
  ]);
  const world = await createWorld({ ...FIRST, usage });
  await world.run('sync');
  for (const [index, tenantId] of TENANTS.entries()) {
    if (index % 2 === 0) continue;
    world.sandbox.workspace().set({ tenantId, period: '2026-02', credits: 5_000 + index, requests: 20 });
  }
  world.clock.nowMs += 3_600_000;
  await world.run('sync');
  writeFileSync(join(world.folder, 'cards.yml'), JSON.stringify({ rates: [CARD] }));
  await world.run('rates', 'apply', 'cards.yml', '--yes');
  return world;
});

it.each(['charge_lines', 'charges', 'daily', 'history', 'period_changes', 'usage'])(
  'pages of %s have the rows of the whole view in its order, whatever their size',
  async (view) => {
    const world = await worldOfMany();
    const reader = openReader(world.ledgerPath);
    try {
      const whole = [...viewSheet(reader.connection, view).rows].map((cells) => [...cells]);
      expect(whole.length).toBeGreaterThan(3);
      for (const limit of [1, 2, 3, 5, 100]) {
        const rows: unknown[] = [];
        let after: ViewPlace | null = null;
        for (;;) {
          const page: ReturnType<typeof viewPage> = viewPage(reader.connection, view, {}, { after, limit });
          rows.push(...page.rows.map((placed) => [...placed.row]));
          if (page.rows.length < limit) break;
          after = page.rows.at(-1)?.place ?? null;
        }
        expect(rows, `${limit} rows a page`).toEqual(whole);
      }
    } finally {
      reader.close();
    }
  },
);
