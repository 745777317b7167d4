import { expect, test } from 'vitest';
import { importNames } from '../../src/ledger/journal/charges/names.ts';
import { pauseOutlet, resumeOutlet, startOutlet } from '../../src/ledger/journal/outlets/outlet-book.ts';
import { resumeWorkspace, retireWorkspace } from '../../src/ledger/journal/retire-workspace.ts';
import { receiverKind } from '../../src/outlets/forwarder.ts';
import { beginRun, publish, stageWalk, usageRecord } from '../support/open-ledger.ts';
import { NOON } from '../support/time/test-clock.ts';
import { exceptions, ledgerSums, type OutletWorld, outletRow, outletWorld } from './outlet-world.ts';
import { SECRET } from './webhook-receiver.ts';

const DAY = 24 * 3_600_000;

function namesIn(connection: OutletWorld['connection']) {
  return (tenantId: string, externalRef: string): void => {
    const names = [{ tenantId, externalRef, displayName: null, labels: {} }];
    importNames(connection, { workspaceId: 'ws-1', names, dryRun: false, nowMs: NOON });
  };
}

test('each entry from the first month on becomes one event, and the sums match the ledger', async () => {
  const world = await outletWorld();
  const { connection, double } = world;
  const large = 2n ** 60n + 1n;
  await publish(connection, [usageRecord('acme', 100, '2025-12'), usageRecord('acme', 10), usageRecord('huge', large)]);
  await publish(connection, [usageRecord('acme', 7), usageRecord('huge', large)]);
  world.begin();
  await world.run();

  expect(double.faults).toEqual([]);
  expect(double.counted.map(({ subject, data }) => [subject, data.credits])).toEqual([
    ['acme', 10],
    ['huge', String(large)],
    ['acme', -3],
  ]);
  expect(double.sums()).toEqual(ledgerSums(connection));
  const [first] = double.counted;
  expect(first).toMatchObject({
    specversion: '1.0',
    source: connection.prepare("SELECT value FROM ledger_meta WHERE name = 'ledger_id'").pluck().get(),
    type: 'usage_ledger.usage.v1',
    time: '2026-03-20T12:00:00.000Z',
    data: { workspace_id: 'ws-1', tenant_id: 'acme', period: '2026-03', credits: 10, requests: 10 },
  });
  expect(new Set(double.counted.map(({ id }) => id)).size).toBe(3);
});

test('events are sent once, and an outlet that was not started sends nothing', async () => {
  const world = await outletWorld();
  await publish(world.connection, [usageRecord('acme', 10)]);
  await world.run();
  expect(world.double.requests).toBe(0);
  world.begin();
  await world.run();
  await world.run();
  expect(world.double.requests).toBe(1);
});

test('only entries of verified runs are sent', async () => {
  const world = await outletWorld();
  world.begin();
  stageWalk(beginRun(world.connection), [usageRecord('acme', 10)]);
  await world.run();
  expect(world.double.requests).toBe(0);
});

test('a refused event is recorded with the answer, and the others are sent', async () => {
  const world = await outletWorld();
  const { connection, double } = world;
  double.refuses = ({ subject }) => subject === 'globex';
  await publish(
    connection,
    ['acme', 'globex', 'initech', 'umbrella'].map((tenant) => usageRecord(tenant, 5)),
  );
  world.begin();
  await world.run();

  expect(double.sums()).toEqual({ 'acme 2026-03': 5n, 'initech 2026-03': 5n, 'umbrella 2026-03': 5n });
  expect(exceptions(connection)).toEqual([[2, 'globex', '2026-03', 'refused', 'HTTP 400 unknown customer']]);
});

test('a recorded answer contains no secret', async () => {
  const world = await outletWorld();
  const key = SECRET.replace('whsec_', '');
  world.double.mood = () => ({ status: 400, body: `your key is ${key} (${SECRET})` });
  await publish(world.connection, [usageRecord('acme', 5)]);
  world.begin();
  await world.run();
  expect(exceptions(world.connection)[0]?.at(-1)).toBe('HTTP 400 your key is [redacted] ([redacted])');
});

test('refused credentials pause the outlet at once', async () => {
  const world = await outletWorld();
  const { connection, double } = world;
  double.mood = () => ({ status: 401, body: 'who are you?' });
  await publish(connection, [usageRecord('acme', 5)]);
  world.begin();
  expect((await world.run()).paused).toBe('the receiver refused the credentials: HTTP 401 who are you?');
  expect(outletRow(connection)).toMatchObject({ paused: 'unauthorized', cursor: 0, flightTo: null });
  await world.run();
  expect(double.requests).toBe(1);

  double.mood = () => null;
  resumeOutlet(connection, { name: 'billing', perhaps: 'ask', nowMs: NOON });
  await world.run();
  expect(double.sums()).toEqual(ledgerSums(connection));
});

test('a Retry-After of the receiver is respected', async () => {
  const world = await outletWorld();
  world.double.mood = () => ({ status: 429, headers: { 'retry-after': '17' } });
  await publish(world.connection, [usageRecord('acme', 5)]);
  world.begin();
  expect((await world.run()).fault).toMatchObject({ afterMs: 17_000 });
  // It was certainly not taken: nothing is in doubt.
  expect(outletRow(world.connection)).toMatchObject({ cursor: 0, flightTo: null });
});

test('an event accepted without an answer is counted once', async () => {
  const world = await outletWorld();
  const { connection, double } = world;
  await publish(
    connection,
    ['acme', 'globex'].map((tenant) => usageRecord(tenant, 5)),
  );
  world.begin();
  double.mood = () => 'hang';
  expect((await world.run()).fault?.answer).toBe('no complete response within 1000 ms');
  expect(outletRow(connection)).toMatchObject({ cursor: 0, flightTo: 2, flightSince: '2026-03-20T12:00:00.000Z' });
  double.mood = () => null;
  await world.run();
  expect(double.sums()).toEqual(ledgerSums(connection));
  expect(outletRow(connection)).toMatchObject({ cursor: 2, flightTo: null });
});

test('an outage after a lost answer leaves the event uncertain', async () => {
  const world = await outletWorld();
  const { connection, double } = world;
  await publish(connection, [usageRecord('acme', 5)]);
  world.begin();
  double.mood = () => ({ status: 503, taken: true });
  await world.run();
  double.mood = () => ({ status: 429 });
  await world.run();
  expect(outletRow(connection).flightTo).toBe(1);
});

test('a receiver that cannot be queried gets no event again that it may have forgotten', async () => {
  const world = await outletWorld({ settings: { remembers_hours: 24 } });
  const { connection, double, clock } = world;
  double.remembersMs = DAY;
  await publish(connection, [usageRecord('acme', 5)]);
  world.begin();
  double.mood = () => ({ status: 502, taken: true });
  await world.run();
  double.mood = () => null;
  clock.advance(2 * DAY);
  double.nowMs = clock.now();

  expect((await world.run()).paused).toMatch(/^entries up to 1 may have been sent at 2026-03-20.*cannot be queried$/);
  expect(outletRow(connection).paused).toBe('uncertain');
  expect(double.sums()).toEqual({ 'acme 2026-03': 5n });
  // Somebody has looked there.
  resumeOutlet(connection, { name: 'billing', perhaps: 'taken', nowMs: clock.now() });
  await publish(connection, [usageRecord('acme', 6)], { nowMs: clock.now() });
  await world.run();
  expect(double.sums()).toEqual({ 'acme 2026-03': 6n });
});

test('events of a tenant without a name are held, do not delay others, and are sent once it has a name', async () => {
  const world = await outletWorld({ settings: { customer: 'external_ref' } });
  const { connection, double } = world;
  const name = namesIn(connection);
  await publish(connection, [usageRecord('acme', 5), usageRecord('globex', 8)]);
  name('acme', 'C-1');
  world.begin();
  await world.run();
  expect(double.sums()).toEqual({ 'C-1 2026-03': 5n });
  expect(exceptions(connection)).toEqual([[2, 'globex', '2026-03', 'held', 'the tenant has no external_ref']]);

  name('globex', 'C-2');
  await world.run();
  expect(double.sums()).toEqual({ 'C-1 2026-03': 5n, 'C-2 2026-03': 8n });
  expect(exceptions(connection)).toEqual([]);
});

test('a correction of a past month has a time in that month', async () => {
  const world = await outletWorld();
  const { connection, double } = world;
  await publish(connection, [usageRecord('acme', 5, '2026-01'), usageRecord('acme', 5)]);
  await publish(connection, [usageRecord('acme', 4, '2026-01'), usageRecord('acme', 5)]);
  world.begin();
  await world.run();
  expect(double.counted.map(({ time }) => time)).toEqual([
    '2026-01-31T23:59:59.000Z',
    '2026-03-20T12:00:00.000Z',
    '2026-01-31T23:59:59.000Z',
  ]);
  expect(double.sums()).toEqual({ 'acme 2026-01': 4n, 'acme 2026-03': 5n });
});

test('events that a receiver no longer accepts are listed as late, with their quantity', async () => {
  const world = await outletWorld({ limits: { maxEventAgeMs: 35 * DAY, acceptsNegative: false } });
  const { connection, double } = world;
  await publish(connection, [usageRecord('acme', 5, '2026-01'), usageRecord('acme', 5, '2026-02')]);
  await publish(connection, [usageRecord('acme', 5, '2026-01'), usageRecord('acme', 3, '2026-02')]);
  world.begin();
  await world.run();
  expect(double.sums()).toEqual({ 'acme 2026-02': 5n });
  expect(exceptions(connection)).toEqual([
    [1, 'acme', '2026-01', 'late', 'the receiver accepts no events older than 35 days'],
    [3, 'acme', '2026-02', 'late', 'the receiver accepts no negative quantities'],
  ]);
});

test('a clock that was a day ahead moves no event to another month and delays none', async () => {
  const world = await outletWorld();
  const { connection, double } = world;
  const lastHours = Date.UTC(2026, 2, 31, 22);
  await publish(connection, [usageRecord('acme', 5)], { nowMs: lastHours + DAY });
  world.clock.set(lastHours);
  world.begin();
  await world.run();
  expect(double.counted.map(({ time }) => time)).toEqual(['2026-03-01T00:00:00.000Z']);
});

test('entries of a retired workspace are not sent until it is resumed', async () => {
  const world = await outletWorld();
  const { connection, double } = world;
  const act = { workspaceId: 'ws-1', by: 'Ada', note: 'sold', nowMs: NOON };
  await publish(connection, [usageRecord('acme', 5)]);
  retireWorkspace(connection, { ...act, elsewhere: false }, () => undefined);
  world.begin();
  await world.run();
  expect([double.requests, exceptions(connection)[0]?.slice(3)]).toEqual([0, ['held', 'the workspace is retired']]);
  resumeWorkspace(connection, act, () => undefined);
  await world.run();
  expect(double.sums()).toEqual({ 'acme 2026-03': 5n });
});

test('events in flight are sent again even if their workspace was retired since, so that none stays uncertain', async () => {
  const world = await outletWorld();
  const { connection, double, clock } = world;
  const act = { workspaceId: 'ws-1', by: 'Ada', note: 'moved', nowMs: NOON };
  await publish(connection, [usageRecord('acme', 5)]);
  world.begin();
  double.mood = () => ({ status: 502, taken: true });
  await world.run();
  retireWorkspace(connection, { ...act, elsewhere: true }, () => undefined);
  double.mood = () => null;
  await world.run();
  expect([exceptions(connection), outletRow(connection).flightTo]).toEqual([[], null]);

  clock.advance(30 * DAY);
  double.nowMs = clock.now();
  resumeWorkspace(connection, { ...act, nowMs: clock.now() }, () => undefined);
  await world.run();
  expect(double.sums()).toEqual({ 'acme 2026-03': 5n });
});

test('an event that may have been sent is not sent again once the receiver may have forgotten its id, after its tenant lost its name', async () => {
  const world = await outletWorld({ settings: { customer: 'external_ref' } });
  const { connection, double, clock } = world;
  const name = (externalRef: string) => namesIn(connection)('acme', externalRef);
  await publish(connection, [usageRecord('acme', 5)]);
  name('C-1');
  world.begin();
  double.mood = () => ({ status: 502, taken: true });
  await world.run();
  name('');
  double.mood = () => null;
  await world.run();
  expect(exceptions(connection)[0]?.slice(3)).toEqual(['held', 'the tenant has no external_ref']);

  clock.advance(30 * DAY);
  double.nowMs = clock.now();
  name('C-1');
  await world.run();
  expect(double.sums()).toEqual({ 'C-1 2026-03': 5n });
  expect(exceptions(connection)[0]?.slice(3)).toEqual(['refused', expect.stringContaining('may have been sent')]);
});

test.each([
  ['before its receiver has answered', 0],
  ['once its receiver forgets what it got', 30 * DAY],
])('an event held because its tenant had no name is sent once it has one: %s', async (_, laterMs) => {
  const world = await outletWorld({ settings: { customer: 'external_ref' } });
  const { connection, double, clock } = world;
  const name = namesIn(connection);
  await publish(connection, [usageRecord('acme', 5), usageRecord('globex', 8), usageRecord('initech', 9)]);
  name('acme', 'C-1');
  name('initech', 'C-3');
  world.begin();
  double.mood = () => ({ status: 502, taken: true });
  await world.run();
  double.mood = () => null;
  if (laterMs > 0) await world.run();
  clock.advance(laterMs);
  double.nowMs = clock.now();
  name('globex', 'C-2');
  await world.run();
  await world.run();
  expect(double.sums()).toEqual({ 'C-1 2026-03': 5n, 'C-2 2026-03': 8n, 'C-3 2026-03': 9n });
  expect(exceptions(connection)).toEqual([]);
});

test('confirming the events in flight does not confirm held ones', async () => {
  const world = await outletWorld({ settings: { customer: 'external_ref' } });
  const { connection, double, clock } = world;
  const name = namesIn(connection);
  await publish(connection, [usageRecord('acme', 5), usageRecord('globex', 8), usageRecord('initech', 9)]);
  name('acme', 'C-1');
  name('initech', 'C-3');
  world.begin();
  double.mood = () => ({ status: 502, taken: true });
  await world.run();
  double.mood = () => null;
  resumeOutlet(connection, { name: 'billing', perhaps: 'taken', nowMs: clock.now() });
  name('globex', 'C-2');
  await world.run();
  expect(double.sums()).toMatchObject({ 'C-2 2026-03': 8n });
});

test('begun again for more months and workspaces, an outlet sends the skipped entries once', async () => {
  const world = await outletWorld({ settings: { workspaces: ['ws-1'] } });
  const { connection, double, outlet } = world;
  await publish(connection, [usageRecord('acme', 5, '2026-01'), usageRecord('acme', 6)]);
  await publish(connection, [usageRecord('globex', 7)], { workspaceId: 'ws-2' });
  world.begin('2026-03');
  await world.run();
  expect(double.sums()).toEqual({ 'acme 2026-03': 6n });

  const wider = await outletWorld({ path: world.path, double });
  const request = { name: outlet.name, receiver: receiverKind(outlet), workspaces: null, fromPeriod: '2026-01' };
  await wider.run();
  expect(double.sums()).toEqual({ 'acme 2026-03': 6n });
  startOutlet(connection, { ...request, by: 'Ada', nowMs: NOON });
  await wider.run();
  expect(double.sums()).toEqual({ 'acme 2026-01': 5n, 'acme 2026-03': 6n, 'globex 2026-03': 7n });
});

test('a paused outlet sends nothing', async () => {
  const world = await outletWorld();
  await publish(world.connection, [usageRecord('acme', 5)]);
  world.begin();
  pauseOutlet(world.connection, { name: 'billing', paused: 'hand', reason: 'a test', nowMs: NOON });
  await world.run();
  expect(world.double.requests).toBe(0);
});
