import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { createWorld, FIRST, parseJson, row } from '../world.ts';

const BOTH = {
  ...{ name: 'both', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01', price_per_request: '0.0005' },
  discount_percent: '10',
};
const CALLS = { name: 'calls', from_period: '2026-01', tenant: 'globex', currency: 'EUR', price_per_request: '0.002' };

test('requests have a price beside credits, or alone: on statements, in views, in FOCUS, proven, and checked by verify', async () => {
  const world = await createWorld({
    ...FIRST,
    usage: [row('acme', '2026-01', 1000, 3001), row('globex', '2026-01', 7)],
  });
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: [BOTH, CALLS] }));
  expect((await world.run('sync')).code).toBe(0);
  expect((await world.run('rates', 'apply', 'rates.yml', '--yes')).code).toBe(0);
  expect((await world.run('rates', 'list')).out).toMatch(/calls .* 0\.002/);

  const lines = 'SELECT tenant_id, kind, credits, requests, unit_price, amount FROM finance_charge_lines';
  expect(world.query(`${lines} ORDER BY tenant_id, line_number`)).toEqual([
    { tenant_id: 'acme', kind: 'usage', credits: 1000, requests: null, unit_price: '0.01', amount: '10.00' },
    { tenant_id: 'acme', kind: 'requests', credits: null, requests: 3001, unit_price: '0.0005', amount: '1.50' },
    { tenant_id: 'acme', kind: 'discount', credits: null, requests: null, unit_price: null, amount: '-1.15' },
    { tenant_id: 'globex', kind: 'usage', credits: 7, requests: null, unit_price: '0', amount: '0.00' },
    { tenant_id: 'globex', kind: 'requests', credits: null, requests: 10, unit_price: '0.002', amount: '0.02' },
  ]);
  expect((await world.run('statement', '2026-01', '--tenant', 'acme')).out).toMatch(
    /3,001 requests +0\.0005 +1\.50 +EUR/,
  );
  const focus = await world.run('export', 'focus', '--period', '2026-01', '--tenant', 'acme', '--format', 'json');
  expect(parseJson(focus.out).rows).toMatchObject([
    { ConsumedUnit: 'Credits', BilledCost: '9.00', ListCost: '10.0' },
    {
      ...{ ChargeCategory: 'Usage', ConsumedUnit: 'Requests', ConsumedQuantity: '3001.0', PricingUnit: 'Requests' },
      ...{ BilledCost: '1.35', ListUnitPrice: '0.0005', SkuId: 'requests', SkuPriceId: 'both/requests' },
    },
  ]);

  await world.run('close', '2026-01', '--by', 'Ada', '--note', 'test', '--force');
  await world.run('statement', '2026-01', '--for-tenant', 'acme', '--format', 'json', '--out', 'acme.json');
  const { head_digest: digest, tenants } = parseJson(readFileSync(join(world.folder, 'acme.json'), 'utf8'));
  expect(tenants[0].lines[1]).toMatchObject({ kind: 'requests', requests: 3001, amount: '1.50' });
  expect((await world.run('statement', 'verify', 'acme.json', '--digest', digest)).code).toBe(0);

  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-01', credits: 1000, requests: 5001 });
  await world.run('sync');
  expect(world.query("SELECT amount, cause FROM finance_charge_lines WHERE corrects_period = '2026-01'")).toEqual([
    { amount: '0.90', cause: 'usage' },
  ]);
  expect((await world.run('verify')).code).toBe(0);
});
