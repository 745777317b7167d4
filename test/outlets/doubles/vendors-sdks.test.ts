import MetronomeSdk from '@metronome/sdk';
import { OpenMeter } from '@openmeter/sdk';
import { Client as LagoClient } from 'lago-javascript-client';
import Stripe from 'stripe';
import { expect, onTestFinished, test } from 'vitest';
import { rejection } from '../../support/rejection.ts';
import { startLago } from './lago-double.ts';
import { startMetronome } from './metronome-double.ts';
import { startOpenMeter } from './openmeter-double.ts';
import { startStripe } from './stripe-double.ts';

const DAY_MS = 86_400_000;
const NOON_MS = Date.UTC(2026, 2, 20, 12);
const MARCH = { from: '2026-03-01T00:00:00.000Z', to: '2026-04-01T00:00:00.000Z' };

/** A clock that a test moves. */
function clock() {
  const at = { ms: NOON_MS };
  return { at, now: () => at.ms };
}

async function stripeDouble(now: () => number) {
  const meter = { id: 'mtr_1', eventName: 'credits' };
  const double = await startStripe({ now, apiKey: 'sk_test_1', meter, customers: ['cus_1', 'cus_2'] });
  onTestFinished(() => double.close());
  const { hostname, port } = new URL(double.url);
  const client = (key: string) => new Stripe(key, { host: hostname, port, protocol: 'http', maxNetworkRetries: 0 });
  const stripe = client('sk_test_1');
  const stream = async () => client((await stripe.v2.billing.meterEventSession.create()).authentication_token);
  return { double, client, stripe, stream };
}

const stripeEvent = (identifier: string, value: string, customer = 'cus_1') => ({
  event_name: 'credits',
  identifier,
  payload: { stripe_customer_id: customer, value },
  timestamp: new Date(NOON_MS - DAY_MS).toISOString(),
});

test("Stripe's own client sends to the stream and reads the summary of a month", async () => {
  const { double, stripe, stream } = await stripeDouble(clock().now);

  await (await stream()).v2.billing.meterEventStream.create({
    events: [stripeEvent('a', '7'), stripeEvent('b', '-2'), stripeEvent('c', '5', 'cus_2')],
  });

  const month = { start_time: Date.parse(MARCH.from) / 1000, end_time: Date.parse(MARCH.to) / 1000 };
  const { data } = await stripe.billing.meters.listEventSummaries('mtr_1', { customer: 'cus_1', ...month });
  expect(data.map(({ aggregated_value }) => aggregated_value)).toEqual([5]);
  expect(await stripe.billing.meters.retrieve('mtr_1')).toMatchObject({ event_name: 'credits', status: 'active' });
  expect(double.sums()).toEqual({ 'cus_1 2026-03': '5', 'cus_2 2026-03': '5' });
});

test("Stripe's own client finds events in a report that the stream accepted and then refused", async () => {
  const { double, stripe, stream } = await stripeDouble(clock().now);

  await (await stream()).v2.billing.meterEventStream.create({
    events: [stripeEvent('a', '1', 'cus_unknown'), stripeEvent('b', '1.5'), stripeEvent('c', '1234567890123456')],
  });

  const types = ['v1.billing.meter.error_report_triggered'];
  const [listed] = (await stripe.v2.core.events.list({ types })).data;
  const event = await stripe.v2.core.events.retrieve(listed?.id ?? '');
  if (event.type !== 'v1.billing.meter.error_report_triggered') throw new Error(`an event of type ${event.type}`);
  expect(
    event.data.reason.error_types.map(({ code, sample_errors: [sample] }) => [code, sample?.request.identifier]),
  ).toEqual([
    ['meter_event_customer_not_found', 'a'],
    ['meter_event_invalid_value', 'b'],
    ['meter_event_value_too_many_digits', 'c'],
  ]);
  expect(double.held).toEqual([]);
});

test("Stripe's own client recognizes the errors of an expired session and of a wrong key", async () => {
  const { at, now } = clock();
  const { client, stream } = await stripeDouble(now);
  const old = await stream();
  at.ms += 15 * 60_000;

  const events = [stripeEvent('a', '1')];
  expect(await rejection(old.v2.billing.meterEventStream.create({ events }))).toBeInstanceOf(
    Stripe.errors.TemporarySessionExpiredError,
  );
  expect(await rejection(client('sk_wrong').billing.meters.retrieve('mtr_1'))).toBeInstanceOf(
    Stripe.errors.StripeAuthenticationError,
  );
});

test('Stripe forgets an identifier after 24 hours', async () => {
  const { at, now } = clock();
  const { double, stream } = await stripeDouble(now);
  const send = async () => (await stream()).v2.billing.meterEventStream.create({ events: [stripeEvent('a', '7')] });
  await send();
  at.ms += DAY_MS - 1;
  await send();
  expect(double.countedTimes().get('a')).toBe(1);
  at.ms += 1;
  await send();
  expect(double.countedTimes().get('a')).toBe(2);
});

async function metronomeDouble(now: () => number) {
  const customers = [{ id: 'd7abd0cd-4ae9-4db7-8676-e986a4ebd8dc', alias: 'acme' }];
  const metric = { id: 'metric-1', eventType: 'usage', property: 'credits' };
  const double = await startMetronome({ now, token: 'token-1', metric, customers });
  onTestFinished(() => double.close());
  const client = (bearerToken: string) => new MetronomeSdk({ bearerToken, baseURL: double.url, maxRetries: 0 });
  return { double, client, metronome: client('token-1') };
}

const metronomeEvent = (transaction_id: string, credits: string, customer_id = 'acme') => ({
  transaction_id,
  customer_id,
  event_type: 'usage',
  timestamp: new Date(NOON_MS - DAY_MS).toISOString(),
  properties: { credits },
});

test("Metronome's own client sends, reads the usage of a month, and finds an event and its customer", async () => {
  const { double, metronome } = await metronomeDouble(clock().now);

  await metronome.v1.usage.ingest({
    usage: [metronomeEvent('a', '7'), metronomeEvent('b', '-2'), metronomeEvent('c', '5', 'nobody')],
  });

  const [customer] = (await metronome.v1.customers.list({ ingest_alias: 'acme' })).data;
  const asked = { starting_on: MARCH.from, ending_before: MARCH.to, window_size: 'NONE' as const };
  const rows = [];
  for await (const row of metronome.v1.usage.list({ ...asked, billable_metrics: [{ id: 'metric-1' }] })) rows.push(row);
  expect(rows.map(({ customer_id, value }) => [customer_id, value])).toEqual([[customer?.id, 5]]);
  const found = await metronome.v1.usage.search({ transactionIds: ['a', 'c'] });
  expect(found.map((event) => event.matched_customer?.id)).toEqual([customer?.id, undefined]);
  expect((await metronome.v1.billableMetrics.retrieve({ billable_metric_id: 'metric-1' })).data.aggregation_type).toBe(
    'SUM',
  );
  expect([...double.unmatched]).toEqual(['c']);
});

test("Metronome's own client recognizes its refusals", async () => {
  const { client, metronome } = await metronomeDouble(clock().now);
  const ahead = { ...metronomeEvent('a', '1'), timestamp: new Date(NOON_MS + DAY_MS + 1).toISOString() };
  expect(await rejection(metronome.v1.usage.ingest({ usage: [ahead] }))).toBeInstanceOf(MetronomeSdk.BadRequestError);
  const many = Array.from({ length: 101 }, (_, at) => metronomeEvent(String(at), '1'));
  expect(await rejection(metronome.v1.usage.ingest({ usage: many }))).toBeInstanceOf(MetronomeSdk.BadRequestError);
  const wrong = client('wrong').v1.usage.ingest({ usage: [metronomeEvent('a', '1')] });
  expect(await rejection(wrong)).toBeInstanceOf(MetronomeSdk.AuthenticationError);
});

test('Metronome forgets a transaction id after 34 days', async () => {
  const { at, now } = clock();
  const { double, metronome } = await metronomeDouble(now);
  const send = () =>
    metronome.v1.usage.ingest({ usage: [{ ...metronomeEvent('a', '7'), timestamp: new Date(now()).toISOString() }] });
  await send();
  at.ms += 34 * DAY_MS - 1;
  await send();
  expect(double.countedTimes().get('a')).toBe(1);
  at.ms += 1;
  await send();
  expect(double.countedTimes().get('a')).toBe(2);
});

async function openMeterDouble(now: () => number, dedupe = true) {
  const meter = { slug: 'credits', eventType: 'usage', property: 'credits' };
  const double = await startOpenMeter({ now, apiKey: 'key-1', meter, dedupe });
  onTestFinished(() => double.close());
  return { double, client: (apiKey: string) => new OpenMeter({ baseUrl: double.url, apiKey }) };
}

const toCloudEvent = (id: string, credits: string, subject = 'acme') => ({
  id,
  source: 'ledger-1',
  specversion: '1.0' as const,
  type: 'usage',
  subject,
  time: new Date(NOON_MS - DAY_MS),
  data: { credits },
});

test("OpenMeter's own client sends, reads a month by subject, and sees events that do not count", async () => {
  const { double, client } = await openMeterDouble(clock().now);
  const openmeter = client('key-1');

  await openmeter.events.ingest([
    toCloudEvent('a', '7'),
    toCloudEvent('b', '-2'),
    toCloudEvent('c', '5', 'globex'),
    toCloudEvent('d', 'many'),
  ]);

  const asked = {
    from: new Date(MARCH.from),
    to: new Date(MARCH.to),
    subject: ['acme', 'globex'],
    groupBy: ['subject'],
  };
  const usage = await openmeter.meters.query('credits', asked);
  expect(usage?.data.map(({ subject, value }) => [subject, value])).toEqual([
    ['acme', 5],
    ['globex', 5],
  ]);
  const [listed] = (await openmeter.events.list({ id: 'd' })) ?? [];
  expect(listed?.validationError).toBe('value cannot be parsed as float64: many');
  expect((await openmeter.meters.get('credits'))?.aggregation).toBe('SUM');
  expect(double.sums()).toEqual({ 'acme 2026-03': '5', 'globex 2026-03': '5' });
});

test("OpenMeter's own client recognizes its refusals", async () => {
  const { client } = await openMeterDouble(clock().now);
  expect(await rejection(client('wrong').events.ingest(toCloudEvent('a', '1')))).toMatchObject({ status: 401 });
  const noSource = client('key-1').events.ingest({ ...toCloudEvent('a', '1'), source: '' });
  expect(await rejection(noSource)).toMatchObject({ status: 400 });
});

test('OpenMeter forgets an id after 32 days', async () => {
  const { at, now } = clock();
  const { double, client } = await openMeterDouble(now);
  const send = () => client('key-1').events.ingest(toCloudEvent('a', '7'));
  await send();
  at.ms += 32 * DAY_MS - 1;
  await send();
  expect(double.countedTimes().get('a')).toBe(1);
  at.ms += 1;
  await send();
  expect(double.countedTimes().get('a')).toBe(2);
});

test('OpenMeter without `dedupe` counts every delivery of an event', async () => {
  const { double, client } = await openMeterDouble(clock().now, false);
  await client('key-1').events.ingest(toCloudEvent('a', '7'));
  await client('key-1').events.ingest(toCloudEvent('a', '7'));
  expect(double.sums()).toEqual({ 'acme 2026-03': '14' });
});

async function lagoDouble(now: () => number, store: 'postgres' | 'clickhouse' = 'postgres') {
  const double = await startLago({ now, apiKey: 'key-1', metric: { code: 'credits', property: 'credits' }, store });
  onTestFinished(() => double.close());
  return { double, client: (key: string) => LagoClient(key, { baseUrl: `${double.url}/api/v1` }) };
}

const lagoEvent = (transaction_id: string, credits: string, timestamp = NOON_MS / 1000) => ({
  transaction_id,
  external_subscription_id: 'sub-1',
  code: 'credits',
  timestamp,
  properties: { credits },
});

test("Lago's own client sends a batch and lists a month", async () => {
  const { double, client } = await lagoDouble(clock().now);
  const lago = client('key-1');

  await lago.events.createBatchEvents({ events: [lagoEvent('a', '7'), lagoEvent('b', '-2')] });

  const asked = {
    external_subscription_id: 'sub-1',
    code: 'credits',
    timestamp_from: MARCH.from,
    timestamp_to: MARCH.to,
  };
  const { events, meta } = (await lago.events.findAllEvents(asked)).data;
  expect(events.map(({ transaction_id, properties }) => [transaction_id, properties?.credits])).toEqual([
    ['a', '7'],
    ['b', '-2'],
  ]);
  expect(meta).toMatchObject({ total_count: 2, next_page: null });
  expect((await lago.billableMetrics.findBillableMetric('credits')).data.billable_metric.aggregation_type).toBe(
    'sum_agg',
  );
  expect(double.sums()).toEqual({ 'sub-1 2026-03': '5' });
});

test("Lago's own client learns which events of a batch exist already, and none of the others is accepted", async () => {
  const { double, client } = await lagoDouble(clock().now);
  const lago = client('key-1');
  await lago.events.createBatchEvents({ events: [lagoEvent('a', '7')] });

  const refused = await lago.events
    .createBatchEvents({ events: [lagoEvent('b', '1'), lagoEvent('a', '7')] })
    .catch((error: unknown) => error);

  expect(refused).toMatchObject({
    status: 422,
    error: { code: 'validation_errors', error_details: { 1: { transaction_id: ['value_already_exist'] } } },
  });
  expect(double.sums()).toEqual({ 'sub-1 2026-03': '7' });
  const many = Array.from({ length: 101 }, (_, at) => lagoEvent(String(at), '1'));
  const tooMany = await lago.events.createBatchEvents({ events: many }).catch((error: unknown) => error);
  expect(tooMany).toMatchObject({ error: { error_details: { events: ['too_many_events'] } } });
  const wrong = await client('wrong')
    .events.createBatchEvents({ events: [lagoEvent('c', '1')] })
    .catch((error: unknown) => error);
  expect(wrong).toMatchObject({ status: 401 });
});

test('Lago on ClickHouse overwrites an event with the same id and time, and counts one with another time', async () => {
  const { double, client } = await lagoDouble(clock().now, 'clickhouse');
  const lago = client('key-1');
  const send = (seconds: number) => lago.events.createBatchEvents({ events: [lagoEvent('a', '7', seconds)] });
  await send(NOON_MS / 1000);
  await send(NOON_MS / 1000);
  expect(double.sums()).toEqual({ 'sub-1 2026-03': '7' });
  await send(NOON_MS / 1000 + 1);
  expect(double.sums()).toEqual({ 'sub-1 2026-03': '14' });
});
