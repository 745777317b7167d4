import { expect, test } from 'vitest';
import { createLagoReceiver } from '../../src/outlets/types/lago.ts';
import { createMetronomeReceiver } from '../../src/outlets/types/metronome.ts';
import { createOpenMeterReceiver } from '../../src/outlets/types/openmeter.ts';
import { createStripeReceiver } from '../../src/outlets/types/stripe.ts';
import { rejection } from '../support/rejection.ts';
import { NOON, testClock } from '../support/time/test-clock.ts';
import { startLago } from './doubles/lago-double.ts';
import { startMetronome } from './doubles/metronome-double.ts';
import { startOpenMeter } from './doubles/openmeter-double.ts';
import { type StripeOptions, startStripe } from './doubles/stripe-double.ts';
import { depsFor, NEVER, usageEvent } from './receiver-world.ts';

const TYPE = 'usage_ledger.usage.v1';
const DAY_MS = 86_400_000;

async function stripe(options: Partial<StripeOptions> = {}) {
  const clock = testClock();
  const meter = { id: 'mtr_1', eventName: 'usage_credits' };
  const customers = ['acme'];
  const double = await startStripe({ now: clock.now, apiKey: 'sk_1', meter, customers, ...options });
  const outlet = { token: 'sk_1', meter: 'mtr_1', streamUrl: double.url.replace('127.0.0.1', 'localhost') };
  return { double, clock, receiver: createStripeReceiver(outlet, depsFor(double, clock)) };
}

test('Stripe: events go to the stream host, other requests to the API host', async () => {
  const { double, receiver } = await stripe();
  await receiver.send([usageEvent('a', 1n)], NEVER);
  const hosts = double.calls.map(({ path, headers }) => [path.split('/').at(-1), headers.host?.split(':')[0]]);
  expect(hosts).toEqual([
    ['mtr_1', '127.0.0.1'],
    ['meter_event_session', '127.0.0.1'],
    ['meter_event_stream', 'localhost'],
  ]);
});

test('Stripe: a session is used until shortly before it expires, then a new one is opened', async () => {
  const { double, clock, receiver } = await stripe();
  const sessions = () => double.calls.filter(({ path }) => path.endsWith('meter_event_session')).length;
  await receiver.send([usageEvent('a', 1n)], NEVER);
  clock.advance(60_000);
  await receiver.send([usageEvent('b', 1n)], NEVER);
  expect(sessions()).toBe(1);
  clock.advance(15 * 60_000);
  expect(await receiver.send([usageEvent('c', 1n)], NEVER)).toEqual([{ is: 'accepted' }]);
  expect(sessions()).toBe(2);
});

test("Stripe: a session that has expired by Stripe's clock does not count as refused credentials", async () => {
  const clock = testClock();
  const { receiver } = await stripe({ now: () => clock.now() });
  await receiver.send([usageEvent('a', 1n)], NEVER);
  clock.advance(15 * 60_000);
  expect(await receiver.send([usageEvent('b', 1n)], NEVER)).toMatchObject([{ is: 'retry', certain: true, afterMs: 0 }]);
  expect(await receiver.send([usageEvent('b', 1n)], NEVER)).toEqual([{ is: 'accepted' }]);
});

test('Stripe: late refusals are found by id, and unnamed ones are counted', async () => {
  const { receiver, clock } = await stripe({ reportDelayMs: 12_000 });
  const strangers = Array.from({ length: 12 }, (_, at) => usageEvent(`nobody-${at}`, 1n, { customer: 'nobody' }));
  const old = usageEvent('old', 1n, { timeMs: NOON - 36 * DAY_MS });
  const outcomes = await receiver.send([...strangers, old, usageEvent('good', 1n)], NEVER);
  expect(new Set(outcomes.map(({ is }) => is))).toEqual(new Set(['accepted']));

  expect(await receiver.readLateRefusals?.(NOON, NEVER)).toEqual({ refused: new Map(), unnamed: 0, untilMs: null });
  clock.advance(12_000);
  const { refused, unnamed } = (await receiver.readLateRefusals?.(NOON, NEVER)) ?? { refused: new Map(), unnamed: 0 };
  expect([...refused.keys()]).toEqual([...strangers.slice(0, 10).map(({ id }) => id), 'old']);
  expect(refused.get('old')).toContain('timestamp_too_far_in_past');
  expect(unnamed).toBe(2);
  expect(await receiver.readLateRefusals?.(NOON + 12_001, NEVER)).toEqual({
    refused: new Map(),
    unnamed: 0,
    untilMs: null,
  });
});

test('Stripe: all pages of its reports are read', async () => {
  const { receiver } = await stripe();
  for (let at = 0; at < 120; at += 1) await receiver.send([usageEvent(`e-${at}`, 1n, { customer: 'nobody' })], NEVER);
  expect((await receiver.readLateRefusals?.(0, NEVER))?.refused.size).toBe(120);
});

test('Stripe: a quantity of more than 15 digits is refused before sending', async () => {
  const { double, receiver } = await stripe();
  const big = 1_234_567_890_123_456n;
  expect(await receiver.send([usageEvent('a', 1n), usageEvent('b', -big), usageEvent('c', 2n)], NEVER)).toEqual([
    { is: 'accepted' },
    { is: 'refused', answer: `-${big} has more than the 15 digits that Stripe accepts` },
    { is: 'accepted' },
  ]);
  expect(double.sums()).toEqual({ 'acme 2026-03': '3' });
});

test('Stripe: a meter that keeps the last event of an hour is refused, and nothing is sent to it', async () => {
  const { double, receiver } = await stripe({ meter: { id: 'mtr_1', eventName: 'usage_credits', window: 'hour' } });
  expect(await rejection(receiver.probe(NEVER))).toMatchObject({ code: 'outlet_mismatch' });
  expect(await receiver.send([usageEvent('a', 1n)], NEVER)).toMatchObject([{ is: 'retry', certain: true }]);
  expect(double.held).toEqual([]);
});

test('Stripe: a missing meter does not count as a customer without usage', async () => {
  const { double, clock } = await stripe();
  const outlet = { token: 'sk_1', meter: 'mtr_other', streamUrl: double.url };
  const receiver = createStripeReceiver(outlet, depsFor(double, clock));
  expect(await rejection(receiver.usage('2026-03', ['acme'], NEVER))).toMatchObject({ code: 'outlet_unreachable' });
});

async function metronome(customers: { id: string; alias: string }[]) {
  const clock = testClock();
  const metric = { id: 'metric-1', eventType: TYPE, property: 'credits' };
  const double = await startMetronome({ now: clock.now, token: 'token-1', metric, customers });
  const outlet = { token: 'token-1', meter: 'metric-1', send: 'credits' as const };
  return { double, clock, receiver: createMetronomeReceiver(outlet, depsFor(double, clock)) };
}

test('Metronome: a customer may be a Metronome id, and an unknown one has no usage', async () => {
  const id = 'd7abd0cd-4ae9-4db7-8676-e986a4ebd8dc';
  const { double, receiver } = await metronome([{ id, alias: 'acme' }]);
  const events = [
    usageEvent('a', 7n, { customer: id }),
    usageEvent('b', 5n),
    usageEvent('c', 9n, { customer: 'nobody' }),
  ];
  expect(await receiver.send(events, NEVER)).toEqual([{ is: 'accepted' }, { is: 'accepted' }, { is: 'accepted' }]);
  const usage = await receiver.usage('2026-03', [id, 'acme', 'nobody'], NEVER);
  expect([usage?.get(id), usage?.get('acme'), usage?.get('nobody')]).toEqual(['12', '12', undefined]);
  expect([...double.unmatched]).toEqual(['c']);
});

test('Metronome: customers are queried in parts, and all pages are read', async () => {
  const customers = Array.from({ length: 120 }, (_, at) => ({ id: `id-${at}`, alias: `alias-${at}` }));
  const { receiver } = await metronome(customers);
  const events = customers.map(({ alias }, at) => usageEvent(`e-${at}`, BigInt(at + 1), { customer: alias }));
  await receiver.send(events.slice(0, 100), NEVER);
  await receiver.send(events.slice(100), NEVER);
  const usage = await receiver.usage(
    '2026-03',
    customers.map(({ alias }) => alias),
    NEVER,
  );
  expect([usage?.size, usage?.get('alias-0'), usage?.get('alias-119')]).toEqual([120, '1', '120']);
});

test('Metronome: a refused event is isolated, and the others are accepted', async () => {
  const { double, receiver } = await metronome([{ id: 'id-1', alias: 'acme' }]);
  const ahead = usageEvent('ahead', 1n, { timeMs: NOON + 2 * DAY_MS });
  const events = [usageEvent('a', 1n), usageEvent('b', 2n), ahead, usageEvent('c', 4n)];
  const outcomes = await receiver.send(events, NEVER);
  expect(outcomes.map(({ is }) => is)).toEqual(['accepted', 'accepted', 'refused', 'accepted']);
  expect(JSON.stringify(outcomes[2])).toContain('more than 24 hours in the future');
  expect(double.sums()).toEqual({ 'id-1 2026-03': '7' });
});

async function openMeter() {
  const clock = testClock();
  const meter = { slug: 'credits', eventType: TYPE, property: 'credits' };
  const double = await startOpenMeter({ now: clock.now, apiKey: 'key-1', meter });
  const outlet = { token: 'key-1', meter: 'credits', send: 'credits' as const };
  return { double, clock, receiver: createOpenMeterReceiver(outlet, depsFor(double, clock)) };
}

test('OpenMeter: a quantity that a float cannot represent is refused before sending', async () => {
  const { double, receiver } = await openMeter();
  const big = 2n ** 53n + 1n;
  expect(await receiver.send([usageEvent('a', big), usageEvent('b', 2n ** 53n - 1n)], NEVER)).toEqual([
    { is: 'refused', answer: `OpenMeter sums floats, which cannot represent ${big} exactly` },
    { is: 'accepted' },
  ]);
  expect(double.sums()).toEqual({ 'acme 2026-03': String(2n ** 53n - 1n) });
});

test('OpenMeter: more subjects than fit in one URL are queried in parts', async () => {
  const { receiver } = await openMeter();
  const customers = Array.from({ length: 120 }, (_, at) => `customer & ${at}`);
  await receiver.send(
    customers.map((customer, at) => usageEvent(`e-${at}`, BigInt(at + 1), { customer })),
    NEVER,
  );
  const usage = await receiver.usage('2026-03', customers, NEVER);
  expect([usage?.size, usage?.get('customer & 0'), usage?.get('customer & 119')]).toEqual([120, '1', '120']);
});

async function lago(store: 'postgres' | 'clickhouse' = 'postgres') {
  const clock = testClock();
  const metric = { code: 'credits', property: 'credits' };
  const double = await startLago({ now: clock.now, apiKey: 'key-1', metric, store });
  const outlet = { token: 'key-1', meter: 'credits', send: 'credits' as const };
  return { double, receiver: createLagoReceiver(outlet, depsFor(double, clock, '/api/v1')) };
}

test.each(['postgres', 'clickhouse'] as const)('Lago on %s: a batch of which it has a part is taken', async (store) => {
  const { double, receiver } = await lago(store);
  await receiver.send([usageEvent('b', 2n), usageEvent('d', 8n)], NEVER);
  const events = ['a', 'b', 'c', 'd', 'e'].map((id, at) => usageEvent(id, BigInt(2 ** at)));
  const outcomes = await receiver.send(events, NEVER);
  expect(outcomes).toEqual(events.map(() => ({ is: 'accepted' })));
  expect(double.sums()).toEqual({ 'acme 2026-03': '31' });
});

test('Lago: a faulty event is refused, and the others are accepted', async () => {
  const { double, receiver } = await lago();
  await receiver.send([usageEvent('c', 4n)], NEVER);
  const events = [usageEvent('a', 1n), usageEvent('', 2n), usageEvent('c', 4n), usageEvent('d', 8n)];
  expect(await receiver.send(events, NEVER)).toEqual([
    { is: 'accepted' },
    { is: 'refused', answer: '{"transaction_id":["value_is_mandatory"]}' },
    { is: 'accepted' },
    { is: 'accepted' },
  ]);
  expect(double.sums()).toEqual({ 'acme 2026-03': '13' });
});

test('Lago: all pages of a month are read, and of no other month', async () => {
  const { receiver } = await lago();
  const bounds = [Date.UTC(2026, 2, 1), Date.UTC(2026, 3, 1) - 1000, Date.UTC(2026, 2, 1) - 1000, Date.UTC(2026, 3, 1)];
  await receiver.send(
    bounds.map((timeMs, at) => usageEvent(`bound-${at}`, 1000n, { timeMs })),
    NEVER,
  );
  for (let part = 0; part < 3; part += 1) {
    await receiver.send(
      Array.from({ length: 100 }, (_, at) => usageEvent(`e-${part}-${at}`, 1n)),
      NEVER,
    );
  }
  expect((await receiver.usage('2026-03', ['acme'], NEVER))?.get('acme')).toBe('2300');
});
