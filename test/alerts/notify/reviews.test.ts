import { expect, test } from 'vitest';
import { composeReviews } from '../../../src/alerts/summaries/compose-reviews.ts';
import { dueReviews } from '../../../src/alerts/summaries/review.ts';
import { routesOf } from '../../../src/alerts/track/routes.ts';
import type { ChannelConfig, RouteConfig } from '../../../src/config/types.ts';
import { RULES, SEVERITIES } from '../../../src/core/text/alert-words.ts';
import { openForWriting } from '../../../src/ledger/store/file/open.ts';
import { startFixture } from '../../support/sandbox-fixture.ts';

const BOTH: RouteConfig = {
  ...{ severities: SEVERITIES, rules: RULES, digestHour: 7, followUps: 'digest' },
  ...{ weeklyDigest: 'monday', monthEndDigest: true },
};
const CHANNEL: ChannelConfig = { type: 'log', name: 'log', route: BOTH };

test.each([
  ['2026-03-09T06:59:59Z', []],
  ['2026-03-09T07:00:00Z', ['weekly to 2026-03-09T07:00:00.000Z']],
  ['2026-03-12T07:00:00Z', ['weekly to 2026-03-09T07:00:00.000Z']],
  ['2026-03-12T07:00:01Z', []],
  ['2026-04-03T06:59:59Z', []],
  ['2026-04-03T07:00:00Z', ['month_end to 2026-04-01T00:00:00.000Z']],
  ['2026-01-03T12:00:00Z', ['month_end to 2026-01-01T00:00:00.000Z']],
])('at %s the reviews that are due are %j', (at, due) => {
  const [route] = routesOf([CHANNEL]);
  if (route === undefined) throw new Error('one route is expected');
  const found = dueReviews(route, { nowMs: Date.parse(at), settleHours: 48 });
  expect(found.map(({ kind, toMs }) => `${kind} to ${new Date(toMs).toISOString()}`)).toEqual(due);
});

test('a week and a month in which nothing happened are told, once, whoever makes them', async () => {
  const { upstream, clock, sync, context, config, view } = await startFixture({ channels: [CHANNEL] });
  for (const period of ['2026-01', '2026-02', '2026-03']) {
    upstream.set({ tenantId: 'a', period, credits: 10_000, requests: 10 });
  }
  clock.set(Date.UTC(2026, 2, 1, 12));
  await sync();
  clock.set(Date.UTC(2026, 2, 9, 7));
  const connection = openForWriting(config.ledger.path);
  const request = { nowMs: clock.now(), settleHours: 48 };
  expect(composeReviews(connection, request)).toHaveLength(1);
  connection.close();
  expect(await context.composeDue()).toEqual([]);

  clock.set(Date.UTC(2026, 3, 3, 1));
  await sync();
  clock.set(Date.UTC(2026, 3, 3, 7));
  expect(await context.composeDue()).toHaveLength(1);
  const reviews = view()
    .rows("SELECT payload FROM outbox WHERE payload LIKE '%alert.review%' ORDER BY rowid")
    .map(({ payload }) => JSON.parse(String(payload)));
  expect(reviews.map(({ summary }) => summary)).toEqual([
    'Week to 2026-03-09 07:00 UTC: nothing happened and nothing is open; 1 workspace, 0 complete runs.',
    'Month 2026-03: nothing happened and nothing is open; 1 workspace, 1 complete run.',
  ]);
  expect(reviews[1].workspaces).toMatchObject([{ credits: { previous: 10_000, current: 10_000, change_percent: 0 } }]);
});

test('a review counts what was told, what ended and what is open, of the rules that its channel takes', async () => {
  const { upstream, clock, sync, context, view } = await startFixture({
    channels: [CHANNEL, { type: 'log', name: 'drops', route: { ...BOTH, rules: ['drop'] } }],
  });
  for (const tenantId of ['a', 'b']) {
    for (const period of ['2026-01', '2026-02']) upstream.set({ tenantId, period, credits: 10_000, requests: 10 });
    upstream.set({ tenantId, period: '2026-03', credits: 3_000, requests: 10 });
  }
  clock.set(Date.UTC(2026, 2, 16));
  await sync();
  clock.set(Date.UTC(2026, 2, 17));
  for (const tenantId of ['a', 'b']) upstream.set({ tenantId, period: '2026-03', credits: 16_000, requests: 10 });
  await sync();
  upstream.set({ tenantId: 'b', period: '2026-03', credits: 4_000, requests: 10 });
  for (const _ of ['one run finds the cause gone', 'a second one agrees']) await sync();
  clock.set(Date.UTC(2026, 2, 23, 7));
  // The end of an alert waits for the daily summary of the same hour.
  expect(await context.composeDue()).toHaveLength(3);
  const summaries = view()
    .rows("SELECT channel, payload FROM outbox WHERE payload LIKE '%alert.review%' ORDER BY channel DESC")
    .map(({ channel, payload }) => `${channel}: ${JSON.parse(String(payload)).summary}`);
  expect(summaries).toEqual([
    'log: Week to 2026-03-23 07:00 UTC: 3 alerts fired, 1 resolved, 2 open now; 1 workspace, 3 complete runs.',
    'drops: Week to 2026-03-23 07:00 UTC: nothing happened and nothing is open; 1 workspace, 3 complete runs.',
  ]);
});

test('what has been acknowledged of a settled month is not open in a review, as it is not in the list', async () => {
  const { upstream, clock, sync, context, view } = await startFixture({ channels: [CHANNEL] });
  const set = (period: string, credits: number) => upstream.set({ tenantId: 'a', period, credits, requests: 10 });
  for (const period of ['2026-01', '2026-02']) set(period, 10_000);
  clock.set(Date.UTC(2026, 2, 16));
  await sync();
  set('2026-03', 20_000);
  await sync();
  clock.set(Date.UTC(2026, 3, 3, 1));
  await sync();
  const ledger = view();
  const alertId = String(ledger.value("SELECT alert_id FROM finance_alerts WHERE level = 'settled'"));
  const writer = await context.writer();
  await writer.call('acknowledgeAlert', { alertId, by: 'Ada', note: null, nowMs: clock.now() });
  clock.set(Date.UTC(2026, 3, 6, 7));
  await context.composeDue();
  const reviews = ledger.rows("SELECT payload FROM outbox WHERE payload LIKE '%weekly%' ORDER BY rowid DESC LIMIT 1");
  expect(reviews.map(({ payload }) => JSON.parse(String(payload)).summary)).toEqual([
    expect.stringMatching(/^Week to 2026-04-06 07:00 UTC: nothing happened and nothing is open;/),
  ]);
});
