import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { createWorld, FIRST, parseJson, row, type World } from '../commands/world.ts';

const DOCUMENT = join(fileURLToPath(new URL('../..', import.meta.url)), 'docs', 'finance.md');
const HOUR_MS = 3_600_000;
const CARDS = [
  { name: 'standard', from_period: '2025-12', currency: 'EUR', price_per_credit: '0.0125', minimum: '20' },
  { name: 'yen', from_period: '2025-12', tenant: 'tokyo', currency: 'JPY', price_per_credit: '1' },
];
const NAMES = 'tenant_id,display_name,external_ref\nacme,Acme Ltd,C-1\nglobex,Globex,C-2\n';

/** The commands of the checklist, as they stand there, of a month in place of February 2026. */
function commandsOf(period: string, next: string): string[][] {
  const text = readFileSync(DOCUMENT, 'utf8');
  const [, section = ''] = /## Month-end checklist\n([\s\S]*?)\n##/.exec(text) ?? [];
  expect([...section.matchAll(/^\d+\. /gm)]).toHaveLength(7);
  const lines = [...section.matchAll(/^ {7,}usage-ledger (.+)$/gm)].map(([, line = '']) => line);
  return lines.map((line) =>
    [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) =>
      (quoted ?? plain ?? '').replace('2026-02', period).replace('2026-03', next),
    ),
  );
}

/** The invoices as the billing system has made them of the closed month, all in euros. */
async function writeInvoices(world: World, period: string): Promise<void> {
  const { tenants } = parseJson((await world.run('statement', period, '--json')).out);
  const lines = tenants.map((tenant: { tenant_id: string; totals: { amount: string }[] }) => {
    return `${tenant.tenant_id},${tenant.totals[0]?.amount}\n`;
  });
  writeFileSync(join(world.folder, 'invoices.csv'), `customer,net\n${lines.join('')}`);
}

test('the steps of the month’s end can be followed to the letter, on two months with corrections', async () => {
  const usage = ['2025-12', '2026-01', '2026-02'].flatMap((period) => [
    row('acme', period, 120_000),
    row('globex', period, 500),
  ]);
  const world = await createWorld({ ...FIRST, usage });
  await world.run('migrate');
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: CARDS }));
  await world.run('rates', 'apply', 'rates.yml', '--yes');
  writeFileSync(join(world.folder, 'customers.csv'), NAMES);
  await world.run('sync');
  for (const [period, next] of [
    ['2025-12', '2026-01'],
    ['2026-01', '2026-02'],
  ] as const) {
    world.clock.nowMs += 13 * HOUR_MS;
    world.clock.serviceMs = world.clock.nowMs;
    await world.run('sync');
    for (const argv of commandsOf(period, next)) {
      if (argv[0] === 'reconcile') await writeInvoices(world, period);
      const { code, err } = await world.run(...argv);
      expect({ argv, code, err: code === 0 ? '' : err }).toEqual({ argv, code: 0, err: '' });
    }
    // What the service says of it after its close.
    world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period, credits: 121_000, requests: 10 });
    await world.run('sync');
    expect((await world.run('statement', next)).out).toContain(`correction of ${period}`);
  }
  expect((await world.run('verify')).code).toBe(0);
});
