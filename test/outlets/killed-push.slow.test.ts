import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { periodAt } from '../../src/core/period.ts';
import { startOutlet } from '../../src/ledger/journal/outlets/outlet-book.ts';
import { CLI } from '../support/daemon-process.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';
import { Random } from '../support/random.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startCuttingProxy } from './cutting-proxy.ts';
import { DOUBLES, sumsOf, TENANTS } from './four-doubles.ts';
import { ledgerSums } from './outlet-world.ts';

/** Of each receiver. */
const KILLS = Math.ceil(Number(process.env.OUTLET_KILLS ?? 4) / 4);
const CUTS = Math.ceil(Number(process.env.OUTLET_CUTS ?? 4) / 4);
const SEED = Number(process.env.OUTLET_SEED ?? 31);
const RUNS = 4;
const WORKSPACE = {
  id: 'ws-1',
  base_url: 'https://data.example.com',
  embed_url: 'https://embed.example.com',
  api_key_id: 'ak_1',
  secret_key: 'sk_one',
};

/** A folder in which `outlets push` sends a ledger of some thousand entries to the double, by a proxy that cuts. */
async function pushingFolder(type: string) {
  const { double, settings } = (await DOUBLES[type]?.({ now: Date.now })) ?? {};
  if (double === undefined || settings === undefined) throw new Error(`no double of ${type}`);
  onTestFinished(() => double.close());
  const proxy = await startCuttingProxy(double.url);
  const folder = temporaryFolder();
  const { connection, path } = openLedger(join(folder, 'ledger.db'));
  const random = new Random(SEED);
  const nowMs = Date.now();
  const period = periodAt(nowMs);
  for (let run = 0; run < RUNS; run += 1) {
    const records = TENANTS.map((tenant) => usageRecord(tenant, random.between(1, 1_000_000), period));
    await publish(connection, records, { nowMs });
  }
  const receiver = `${type} credits`;
  startOutlet(connection, { name: 'billing', receiver, workspaces: null, fromPeriod: '2026-01', by: 'Ada', nowMs });
  const url = settings.url.replace(double.url, proxy.url);
  const outlet = { name: 'billing', type, token: 'token-1', allow_private: true, ...settings, url };
  const config = { ledger: { path }, workspaces: [WORKSPACE], outlets: [outlet] };
  writeFileSync(join(folder, 'usage-ledger.yml'), stringify(config));
  const push = () => spawn(process.execPath, [CLI, 'outlets', 'push'], { cwd: folder, stdio: 'ignore' });
  return { double, proxy, connection, random, push };
}

function expectAllOnce({ double, connection }: Awaited<ReturnType<typeof pushingFolder>>): void {
  expect(sumsOf(double)).toEqual(ledgerSums(connection));
  const counted = double.countedTimes();
  expect(counted.size).toBe(RUNS * TENANTS.length);
  expect([...counted.values()].filter((times) => times !== 1)).toEqual([]);
}

test.each(Object.keys(DOUBLES))(
  '%s has each event once though the process that sends is killed before it hears the answer',
  async (type) => {
    const world = await pushingFolder(type);
    const { double, random, push } = world;
    let killed = 0;
    const add = double.calls.push.bind(double.calls);
    for (let kill = 0; kill < KILLS; kill += 1) {
      const child = push();
      let left = random.between(1, 8);
      // The double counts a call before it answers it.
      double.calls.push = (...calls) => {
        left -= 1;
        if (left === 0) child.kill('SIGKILL');
        return add(...calls);
      };
      const [, signal] = await once(child, 'exit');
      if (signal === 'SIGKILL') killed += 1;
    }
    double.calls.push = add;
    const [code] = await once(push(), 'exit');

    expect(code).toBe(0);
    expect(killed).toBeGreaterThan(0);
    expectAllOnce(world);
  },
  120_000 + KILLS * 20_000,
);

test.each(Object.keys(DOUBLES))(
  '%s has each event once though the connection is cut in the middle of requests and of answers',
  async (type) => {
    const world = await pushingFolder(type);
    const { proxy, random, push } = world;
    const sides = ['answer', 'request'] as const;
    for (let cut = 0; cut < CUTS; cut += 1) {
      proxy.cutAt(sides[cut % 2] ?? 'answer', random.between(1, 3));
      // What was cut is told, and sent by the next push.
      expect((await once(push(), 'exit'))[0]).toBe(1);
    }
    expect(proxy.cut).toEqual(Array.from({ length: CUTS }, (_, cut) => sides[cut % 2]));
    expect((await once(push(), 'exit'))[0]).toBe(0);
    expectAllOnce(world);
  },
  120_000 + CUTS * 20_000,
);
