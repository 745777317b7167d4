import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createWorld } from '../../commands/world.ts';
import { CLI } from '../../support/daemon-process.ts';

const TENANTS = 20_000;
/** Some rows on their way, and 0.25 KB a tenant: its leaf of the tree and the nodes above are 64 bytes. */
const KB_AT_MOST = 40_000 + 0.25 * TENANTS;

test('statements and exports of many tenants are written in hardly more memory than those of one', async () => {
  const generate = { seed: 1, tenants: TENANTS, months: 2 };
  const world = await createWorld({ id: 'ws-1', api_key_id: 'ak', secret_key: 'sk_x_not_a_secret', generate });
  const card = { name: 'flat', from_period: '2020-01', currency: 'EUR', price_per_credit: '0.01' };
  writeFileSync(join(world.folder, 'rates.yml'), JSON.stringify({ rates: [card] }));
  await world.run('migrate');
  await world.run('rates', 'apply', 'rates.yml', '--yes');
  await world.run('sync');
  const [first] = world.query('SELECT period, tenant_id FROM finance_usage LIMIT 1') as Record<string, string>[];
  const { period = '', tenant_id: tenant = '' } = first ?? {};
  expect((await world.run('close', period, '--force', '--note', 'large')).code).toBe(0);
  const spy = join(world.folder, 'spy.cjs');
  writeFileSync(spy, `process.on('exit', () => process.stderr.write(String(process.resourceUsage().maxRSS)));`);
  const peakKb = async (...argv: string[]): Promise<number> => {
    const options = { cwd: world.folder, maxBuffer: 2 ** 32 };
    return Number((await promisify(execFile)(process.execPath, ['--require', spy, CLI, ...argv], options)).stderr);
  };

  const forms = [
    ['statement', period, '--format', 'json'],
    ['statement', period, '--format', 'csv'],
    ['export', 'charges', '--period', period, '--format', 'ndjson'],
    ['export', 'focus', '--period', period, '--format', 'csv'],
  ];
  for (const form of forms) {
    const more = (await peakKb(...form)) - (await peakKb(...form, '--tenant', tenant));
    expect([form, more]).toEqual([form, expect.toSatisfy((kb: number) => kb < KB_AT_MOST)]);
  }
});
