import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resumeOutlet } from '../../src/ledger/journal/outlets/outlet-book.ts';
import { backupLedger } from '../../src/ledger/transfer/backup/backup.ts';
import { restoreLedger } from '../../src/ledger/transfer/backup/restore.ts';
import { checkOutlet } from '../../src/outlets/read-back.ts';
import { publish, usageRecord } from '../support/open-ledger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NOON } from '../support/time/test-clock.ts';
import { exceptions, ledgerSums, outletRow } from './outlet-world.ts';
import { askedWorld, DAY } from './read-back-setup.ts';

const { signal } = new AbortController();

test('the receiver is queried by customer for events that may have been sent and whose ids it has forgotten', async () => {
  const world = await askedWorld();
  const { connection, double, clock } = world;
  await publish(
    connection,
    ['acme', 'globex', 'initech'].map((tenant) => usageRecord(tenant, 5)),
  );
  world.begin();
  // It has the first two, and says nothing of it.
  double.refuses = ({ subject }) => subject === 'initech';
  double.mood = (events) => (events.length === 1 ? { status: 503, taken: true } : { status: 400 });
  await world.run();
  [double.mood, double.refuses] = [() => null, () => false];
  const there = double.sums();
  expect(Object.keys(there).length).toBeGreaterThan(0);
  clock.advance(3 * DAY);
  double.nowMs = clock.now();
  await world.run();
  expect(double.sums()).toEqual(ledgerSums(connection));
  expect(exceptions(connection)).toEqual([]);
});

test('if the receiver has neither sum, nothing is sent and the entry is listed', async () => {
  const world = await askedWorld();
  const { connection, double, clock } = world;
  await publish(connection, [usageRecord('acme', 5), usageRecord('globex', 6)]);
  world.begin();
  double.mood = () => ({ status: 503, taken: true });
  await world.run();
  double.mood = () => null;
  const [mine] = double.counted;
  if (mine === undefined) throw new Error('nothing came');
  double.counted.push({ ...mine, id: 'of somebody else', data: { ...mine.data, credits: 100 } });
  clock.advance(3 * DAY);
  double.nowMs = clock.now();
  await world.run();
  expect(double.sums()).toEqual({ 'acme 2026-03': 105n, 'globex 2026-03': 6n });
  expect(exceptions(connection)).toEqual([
    [
      1,
      'acme',
      '2026-03',
      'refused',
      'it is unknown whether the event arrived: for 2026-03 the receiver has 105, but the ledger has 0 without the events in doubt and 5 with them',
    ],
  ]);
});

test('a comparison lists the differing customers with their last entries', async () => {
  const world = await askedWorld();
  const { connection, double, outlet, receiver } = world;
  await publish(connection, [usageRecord('acme', 5), usageRecord('globex', 6)]);
  await publish(connection, [usageRecord('acme', 9), usageRecord('globex', 6)]);
  world.begin();
  await world.run();
  const compare = () => checkOutlet({ outlet, receiver, connection }, '2026-03', signal);
  expect(await compare()).toEqual({ customers: 2, differences: [] });
  double.counted.splice(2, 1);
  expect(await compare()).toEqual({
    customers: 2,
    differences: [
      {
        period: '2026-03',
        customer: 'acme',
        ledger: '9',
        receiver: '5',
        tenants: [{ workspace_id: 'ws-1', tenant_id: 'acme' }],
        entry_ids: [3, 1],
      },
    ],
  });
});

test('a restored ledger sends no event that the receiver has, and then the missing ones', async () => {
  const world = await askedWorld();
  const { connection, double, path } = world;
  const backup = join(temporaryFolder(), 'backup.db');
  await publish(connection, [usageRecord('acme', 5), usageRecord('globex', 5)]);
  world.begin();
  await world.run();
  await backupLedger({ ledgerPath: path, target: backup, force: false, signal });
  // This the receiver gets, and the backup does not have it: entries of other content follow under the same numbers.
  await publish(connection, [usageRecord('acme', 8), usageRecord('globex', 5)]);
  await publish(connection, [usageRecord('acme', 9), usageRecord('globex', 5), usageRecord('initech', 4)]);
  await world.run();
  expect(double.sums()).toEqual(ledgerSums(connection));
  connection.close();

  const order = { file: backup, ledgerPath: path, version: '0.0.0', nowMs: NOON, signal };
  await restoreLedger(order);
  const restored = await askedWorld(path, double);
  expect(outletRow(restored.connection)).toMatchObject({ paused: 'restored', cursor: 2 });
  await publish(restored.connection, [usageRecord('acme', 9), usageRecord('globex', 7), usageRecord('initech', 4)]);
  await restored.run();
  expect(double.sums()).toEqual({ 'acme 2026-03': 9n, 'globex 2026-03': 5n, 'initech 2026-03': 4n });

  resumeOutlet(restored.connection, { name: 'billing', perhaps: 'ask', nowMs: NOON });
  await restored.run();
  expect(double.sums()).toEqual(ledgerSums(restored.connection));
  expect(exceptions(restored.connection)).toEqual([]);
});
