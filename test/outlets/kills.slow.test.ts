import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resumeOutlet, startOutlet } from '../../src/ledger/journal/outlets/outlet-book.ts';
import { configure, NOWHERE, ONE_TICK } from '../support/daemon-folder.ts';
import { startDaemonProcess } from '../support/daemon-process.ts';
import { eventually } from '../support/eventually.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { exceptions, ledgerSums } from './outlet-world.ts';
import { SECRET, WebhookReceiver } from './webhook-receiver.ts';

const KILLS = Number(process.env.OUTLET_KILLS ?? 5);
const TENANTS = 40 * KILLS;

/** A folder whose daemon has nothing to do but to send on what the ledger has of `tenants`. */
async function sendingFolder(tenants: number) {
  const double = await new WebhookReceiver().start();
  const folder = temporaryFolder();
  const outlet = { name: 'billing', type: 'webhook', url: double.url, allow_private: true, secret: SECRET };
  configure(folder, {
    ...ONE_TICK,
    http: { port: 0 },
    workspaces: [NOWHERE],
    outlets: [{ ...outlet, events_per_request: 5, requests_per_second: 40 }],
  });
  const { connection } = openLedger(join(folder, 'data', 'ledger.db'));
  for (const credits of [10, 25, 19]) {
    const records = Array.from({ length: tenants }, (_, at) => usageRecord(`t${at}`, credits + at, '2026-03'));
    await publish(connection, records);
  }
  startOutlet(connection, {
    ...{ name: 'billing', receiver: 'webhook credits', workspaces: null, fromPeriod: '2026-01' },
    ...{ by: 'Ada', nowMs: Date.now() },
  });
  return { folder, double, connection };
}

test('a daemon killed while sending loses and duplicates no event', {
  timeout: 120_000 + KILLS * 10_000,
}, async () => {
  const { folder, double, connection } = await sendingFolder(TENANTS);
  double.delayMs = 20;

  for (let kill = 0; kill < KILLS; kill += 1) {
    const before = double.requests;
    const daemon = startDaemonProcess(folder);
    await eventually(() => expect(double.requests).toBeGreaterThan(before + 2));
    daemon.child.kill('SIGKILL');
    expect(await daemon.exit()).toBe('SIGKILL');
  }
  expect(double.counted.length).toBeLessThan(3 * TENANTS);
  startDaemonProcess(folder);
  await eventually(() => expect(double.counted.length).toBeGreaterThanOrEqual(3 * TENANTS), 120_000);
  expect(double.sums()).toEqual(ledgerSums(connection));
  expect(double.counted).toHaveLength(3 * TENANTS);
  expect(exceptions(connection)).toEqual([]);
  expect(double.faults).toEqual([]);
});

test('refused credentials raise an alert that ends when the receiver has all events', async () => {
  const { folder, double, connection } = await sendingFolder(3);
  double.mood = () => ({ status: 401 });
  const alerts = () =>
    connection.prepare("SELECT cause, state FROM finance_alerts WHERE cause LIKE 'outlet:%'").raw().all();
  const daemon = startDaemonProcess(folder);
  expect(await daemon.line('outlet paused')).toMatchObject({ outlet: 'billing', level: 'error' });
  await eventually(() => expect(alerts()).toEqual([['outlet:billing', 'firing']]));
  expect(double.requests).toBeLessThan(5);

  double.mood = () => null;
  resumeOutlet(connection, { name: 'billing', perhaps: 'ask', nowMs: Date.now() });
  await eventually(() => expect(double.sums()).toEqual(ledgerSums(connection)));
  await eventually(() => expect(alerts()).toEqual([['outlet:billing', 'resolved']]), 90_000);
}, 150_000);
