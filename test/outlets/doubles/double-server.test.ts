import { expect, onTestFinished, test } from 'vitest';
import type { DoubleOptions } from './double-server.ts';
import { startLago } from './lago-double.ts';
import { startOpenMeter } from './openmeter-double.ts';
import { startStripe } from './stripe-double.ts';

const NOON_MS = Date.UTC(2026, 2, 20, 12);

async function lago(options: Partial<DoubleOptions>) {
  const metric = { code: 'credits', property: 'credits' };
  const double = await startLago({ now: () => NOON_MS, apiKey: 'key-1', metric, ...options });
  onTestFinished(() => double.close());
  const send = (transaction_id: string) =>
    fetch(`${double.url}/api/v1/events/batch`, {
      method: 'POST',
      headers: { authorization: 'Bearer key-1', 'content-type': 'application/json' },
      body: JSON.stringify({
        events: [{ transaction_id, external_subscription_id: 'sub-1', code: 'credits', properties: { credits: '1' } }],
      }),
    });
  return { double, send };
}

/** What a caller saw of so many events, each sent once: its status, or null for a connection that was cut. */
async function seen(seed: number, events: number) {
  const { double, send } = await lago({ faults: { seed, share: 0.3 } });
  const statuses: (number | null)[] = [];
  for (let at = 0; at < events; at += 1) {
    const answer = await send(`event-${at}`).catch(() => null);
    statuses.push(answer?.status ?? null);
  }
  return { double, statuses };
}

test('a share of the calls fails, some of them after accepting the events', async () => {
  const { double, statuses } = await seen(7, 200);

  const good = statuses.filter((status) => status === 200).length;
  expect(good).toBeGreaterThan(110);
  expect(good).toBeLessThan(170);
  expect(new Set(statuses)).toEqual(new Set([200, 429, 500, null]));
  expect(double.held.length).toBeGreaterThan(good);
  expect(double.held.length).toBeLessThan(200);
});

test('the same seed makes the same calls fail', async () => {
  expect((await seen(7, 40)).statuses).toEqual((await seen(7, 40)).statuses);
  expect((await seen(8, 40)).statuses).not.toEqual((await seen(7, 40)).statuses);
});

test('calls over the rate limit are refused until the clock advances', async () => {
  const at = { ms: NOON_MS };
  const { double, send } = await lago({ now: () => at.ms, callsPerSecond: 2 });
  const statuses = [(await send('a')).status, (await send('b')).status, (await send('c')).status];
  at.ms += 1000;
  expect([...statuses, (await send('c')).status]).toEqual([200, 200, 429, 200]);
  expect(double.sums()).toEqual({ 'sub-1 2026-03': '3' });
});

test('an OpenMeter that fails may have accepted a part of a batch', async () => {
  const meter = { slug: 'credits', eventType: 'usage', property: 'credits' };
  const double = await startOpenMeter({ now: () => NOON_MS, apiKey: 'key-1', meter });
  onTestFinished(() => double.close());
  const events = ['a', 'b', 'c', 'd'].map((id) => {
    return { id, source: 'ledger-1', specversion: '1.0', type: 'usage', subject: 'acme', data: { credits: 1 } };
  });
  let status: number | null = null;
  for (let calls = 0; calls < 50 && (status !== 500 || double.held.length !== 2); calls += 1) {
    double.held.length = 0;
    double.setFaults({ seed: calls, share: 1 });
    const answer = await fetch(`${double.url}/api/v1/events`, {
      method: 'POST',
      headers: { authorization: 'Bearer key-1', 'content-type': 'application/cloudevents-batch+json' },
      body: JSON.stringify(events.map((event) => ({ ...event, id: `${event.id}${calls}` }))),
    }).catch(() => null);
    status = answer?.status ?? null;
  }
  expect({ status, held: double.held.length }).toEqual({ status: 500, held: 2 });
});

test("Stripe's reports and summaries follow when the clock advances", async () => {
  const at = { ms: NOON_MS };
  const meter = { id: 'mtr_1', eventName: 'credits' };
  const later = { reportDelayMs: 10_000, settleMs: 60_000 };
  const double = await startStripe({ now: () => at.ms, apiKey: 'sk_1', meter, customers: ['cus_1'], ...later });
  onTestFinished(() => double.close());
  const headers = { authorization: 'Bearer sk_1', 'stripe-version': '2026-10-28.endive' };
  const get = async (path: string) =>
    ((await (await fetch(`${double.url}${path}`, { headers })).json()) as { data: unknown[] }).data;
  const session = await fetch(`${double.url}/v2/billing/meter_event_session`, { method: 'POST', headers });
  const { authentication_token: token } = (await session.json()) as { authentication_token: string };
  const timestamp = new Date(NOON_MS).toISOString();
  const event = (identifier: string, customer: string) => {
    return { event_name: 'credits', identifier, timestamp, payload: { stripe_customer_id: customer, value: '3' } };
  };
  await fetch(`${double.url}/v2/billing/meter_event_stream`, {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${token}` },
    body: JSON.stringify({ events: [event('a', 'cus_1'), event('b', 'cus_2')] }),
  });

  const month = 'customer=cus_1&start_time=1772323200&end_time=1775001600';
  const reports = () => get('/v2/core/events');
  const summaries = () => get(`/v1/billing/meters/mtr_1/event_summaries?${month}`);
  expect([await reports(), await summaries()]).toEqual([[], []]);
  at.ms += 60_000;
  expect([(await reports()).length, (await summaries())[0]]).toMatchObject([1, { aggregated_value: 3 }]);
});
