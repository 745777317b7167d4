import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { outletSchema } from '../../src/config/schema/outlets.ts';
import { startOutlet } from '../../src/ledger/journal/outlets/outlet-book.ts';
import { ledgerId } from '../../src/ledger/store/schema/identity.ts';
import { Forwarder, receiverKind } from '../../src/outlets/forwarder.ts';
import { openReceiver } from '../../src/outlets/open-receiver.ts';
import { checkOutlet } from '../../src/outlets/read-back.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';
import { Random } from '../support/random.ts';
import { writerOn } from '../support/run/real-run.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { testClock } from '../support/time/test-clock.ts';
import type { DoubleOptions } from './doubles/double-server.ts';
import { DOUBLES, sumsOf, TENANTS } from './four-doubles.ts';
import { ledgerSums } from './outlet-world.ts';

const SEED = Number(process.env.OUTLET_SEED ?? 23);

let ledger: Buffer | undefined;

/** A ledger of 10,000 entries in two months, many of them negative; made once. */
async function ledgerOfMany(): Promise<Buffer> {
  const { connection } = openLedger();
  const random = new Random(SEED);
  for (let run = 0; run < 10; run += 1) {
    const records = ['2026-02', '2026-03'].flatMap((period) =>
      TENANTS.map((tenant) => usageRecord(tenant, random.between(1, 1_000_000), period)),
    );
    await publish(connection, records);
  }
  return connection.serialize();
}

/** An outlet of that ledger, which was begun. */
async function world(type: string, faults: DoubleOptions['faults']) {
  const clock = testClock();
  const start = DOUBLES[type];
  if (start === undefined) throw new Error(`no double of ${type}`);
  // Time stands still here: its rates are held to elsewhere.
  const { double, settings } = await start({ now: clock.now, callsPerSecond: Number.POSITIVE_INFINITY, faults });
  ledger ??= await ledgerOfMany();
  const path = join(temporaryFolder(), 'ledger.db');
  writeFileSync(path, ledger, { mode: 0o600 });
  const { connection } = openLedger(path);
  const outlet = outletSchema.parse({ name: 'billing', type, token: 'token-1', allow_private: true, ...settings });
  const deps = { ledgerId: ledgerId(connection), clock, proxy: null, redact: (text: string) => text };
  const { receiver, close } = openReceiver(outlet, deps);
  onTestFinished(async () => {
    await close();
    await double.close();
  });
  const writer = writerOn(connection);
  const sweep = new Forwarder({ ...deps, outlet, receiver, connection, writer: async () => writer });
  startOutlet(connection, {
    name: 'billing',
    receiver: receiverKind(outlet),
    workspaces: null,
    fromPeriod: '2026-01',
    by: 'Ada',
    nowMs: clock.now(),
  });
  return { clock, connection, double, outlet, receiver, sweep };
}

/** Steps until nothing waits, while time passes as a daemon lets it pass after a fault. */
async function run({ sweep, clock }: Awaited<ReturnType<typeof world>>): Promise<number> {
  const { signal } = new AbortController();
  let faults = 0;
  for (;;) {
    const report = await sweep.step(signal);
    if (report.paused !== null) throw new Error(report.paused);
    if (report.fault !== null) faults += 1;
    if (!report.more && report.fault === null) return faults;
    if (faults > 500) throw new Error(report.fault?.answer);
    clock.advance(Math.max(1000, report.fault?.afterMs ?? 0));
  }
}

test.each(Object.keys(DOUBLES))('%s counts 10,000 entries once each though three of ten calls fail', async (type) => {
  const it = await world(type, { seed: SEED, share: 0.3 });
  const { signal } = new AbortController();
  expect(await run(it)).toBeGreaterThan(0);

  expect(sumsOf(it.double)).toEqual(ledgerSums(it.connection));
  const counted = it.double.countedTimes();
  expect(counted.size).toBe(10_000);
  expect([...counted.values()].filter((times) => times !== 1)).toEqual([]);

  it.double.setFaults(undefined);
  it.clock.advance(it.receiver.limits.visibleAfterMs);
  expect(await checkOutlet(it, '2026-02', signal)).toEqual({ customers: 500, differences: [] });
  expect(await checkOutlet(it, '2026-03', signal)).toEqual({ customers: 500, differences: [] });

  const lost = it.double.held.findIndex(({ customer, value }) => customer.endsWith('tenant-7') && value !== '0');
  const [event] = it.double.held.splice(lost, 1);
  const period = new Date(event?.atMs ?? 0).toISOString().slice(0, 7);
  const [difference, ...others] = (await checkOutlet(it, period, signal)).differences;
  expect(others).toEqual([]);
  expect(difference).toMatchObject({ period, customer: 'tenant-7' });
  expect(BigInt(difference?.ledger ?? 0) - BigInt(difference?.receiver ?? 0)).toBe(BigInt(event?.value ?? 0));
});
