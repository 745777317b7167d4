import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { verifyText } from '../../billing/statement/verify-text.ts';
import { createWorld, FIRST, NOON, row, type World, workspaceSettings } from '../world.ts';

const HOUR = 3_600_000;
const CARD = {
  ...{ name: 'standard', from_period: '2025-12', currency: 'EUR', discount_percent: '10', minimum: '20' },
  graduated: [{ up_to: 500, price_per_credit: '0.02' }, { price_per_credit: '0.0125' }],
};
const USAGE = ['2025-12', '2026-01'].flatMap((period) => [
  ...[row('acme', period, 3000), row('globex', period, 9_007_199_254_740_993n), row('=1+1', period, 7)],
]);

/** December is closed, and January, which bills a correction of December. */
async function createClosed(): Promise<World> {
  const world = await createWorld({ ...FIRST, usage: USAGE });
  await world.run('migrate');
  await putCard(world, CARD);
  await world.run('sync');
  await putNames(world, 'tenant_id,display_name,external_ref\nacme,Acme & Sons,K-1\n');
  world.clock.nowMs = NOON + 13 * HOUR;
  await world.run('sync');
  expect((await world.run('close', '2025-12', '--by', 'Ada')).code).toBe(0);
  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2025-12', credits: 3500, requests: 10 });
  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-02', credits: 10, requests: 10 });
  await world.run('sync');
  world.clock.nowMs += 13 * HOUR;
  await world.run('sync');
  expect(await world.run('close', '2026-01', '--by', 'Ada')).toMatchObject({ code: 0 });
  return world;
}

async function putCard(world: World, card: object): Promise<void> {
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: [card] }));
  expect((await world.run('rates', 'apply', 'rates.yml', '--yes')).code).toBe(0);
}

async function putNames(world: World, csv: string): Promise<void> {
  writeFileSync(join(world.folder, 'names.csv'), csv);
  expect((await world.run('tenants', 'import', 'names.csv')).code).toBe(0);
}

/** The statement in every format that can be a file, by format. */
async function statementsOf(world: World, folder: string): Promise<Record<string, Buffer>> {
  mkdirSync(join(world.folder, folder));
  const files: Record<string, Buffer> = {};
  for (const format of ['json', 'ndjson', 'csv', 'html', 'xlsx', 'parquet']) {
    const path = join(world.folder, folder, `statement.${format}`);
    expect(await world.run('statement', '2026-01', '--format', format, '--out', path)).toMatchObject({ code: 0 });
    files[format] = readFileSync(path);
  }
  return files;
}

it('of a closed period is the same to the byte on two ledgers restored from a backup, and fails with a digit changed', {
  timeout: 90_000,
}, async () => {
  const world = await createClosed();
  expect((await world.run('backup', 'ledger.bak')).code).toBe(0);
  const workspaces = [workspaceSettings(world.sandbox, { ...FIRST, usage: USAGE })];
  const restoreInto = async (folder: string) => {
    mkdirSync(join(world.folder, folder));
    world.configure({ ledger: { path: `./${folder}/ledger.db` }, workspaces });
    copyFileSync(join(world.folder, 'ledger.bak'), join(world.folder, `${folder}.bak`));
    expect(await world.run('restore', `${folder}.bak`)).toMatchObject({ code: 0, err: '' });
  };
  await restoreInto('first');
  const first = await statementsOf(world, 'first-statements');

  // The other ledger has gone on for a while: another card and name, a run with a correction of the closed month.
  await restoreInto('second');
  world.clock.nowMs += 40 * 24 * HOUR;
  world.clock.serviceMs = world.clock.nowMs;
  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-01', credits: 1, requests: 1 });
  await putCard(world, { ...CARD, discount_percent: '50' });
  await putNames(world, 'tenant_id,display_name,external_ref\nacme,Renamed,K-2\n');
  expect((await world.run('sync')).code).toBe(0);
  const second = await statementsOf(world, 'second-statements');
  for (const [format, bytes] of Object.entries(first)) expect(second[format]?.equals(bytes), format).toBe(true);

  const text = String(first.json);
  expect(text).toContain('"kind": "correction"');
  expect((await world.run('statement', 'verify', 'first-statements/statement.json', '--ledger')).out).toContain(
    'is authentic',
  );
  const digits = [...text.matchAll(/\d/g)].map(({ index }) => index);
  const passing: number[] = [];
  for (const at of digits) {
    const changed = text.slice(0, at) + ((Number(text[at]) + 1) % 10) + text.slice(at + 1);
    if ((await verifyText(changed)).agrees) passing.push(at);
  }
  expect(digits.length).toBeGreaterThan(1000);
  expect(passing).toEqual([]);
});
