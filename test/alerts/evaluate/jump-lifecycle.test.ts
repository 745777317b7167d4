import { expect, test } from 'vitest';
import { type Ledger, messages, notifications } from '../../support/messages.ts';
import { type Fixture, type FixtureOptions, startFixture } from '../../support/sandbox-fixture.ts';
import { nextSummary } from './scene.ts';

const HOUR_MS = 3_600_000;
/** March is over and its figures have settled for 48 hours. */
const SETTLED = Date.UTC(2026, 3, 3, 0, 0, 1);
const CHANNELS = [
  { type: 'log', name: 'first' },
  { type: 'log', name: 'second' },
] as const;

test('a tenant that jumps after the first sync gives one certain alert and one message a channel', async () => {
  const { sync, view, jumpTo } = await startWithHistory({ channels: [...CHANNELS] });

  jumpTo(16_000);
  const { alerts } = await sync();

  const ledger = view();
  expect(ledger.rows('SELECT * FROM finance_alerts')).toMatchObject([
    {
      workspace_id: 'ws-1',
      tenant_id: 'jumper',
      period: '2026-03',
      rule: 'jump',
      level: 'happened',
      severity: 'critical',
      state: 'firing',
      previous_credits: 10_000n,
      current_credits: 16_000n,
      threshold: 15_000n,
    },
  ]);
  const rows = messages(ledger);
  expect(rows.map(({ channel, state }) => [channel, state])).toEqual([
    ['first', 'pending'],
    ['second', 'pending'],
  ]);
  expect(alerts.due).toBe(2);
  for (const { id, payload } of rows) {
    expect(payload).toMatchObject({
      notification_id: id,
      type: 'alert.firing',
      level: 'happened',
      tenant_id: 'jumper',
    });
  }
});

test('ids of a notification are the same in every ledger that sees the same jump', async () => {
  const ids: unknown[] = [];
  for (let round = 0; round < 2; round += 1) {
    const { sync, view, jumpTo } = await startWithHistory();
    jumpTo(16_000);
    await sync();
    ids.push(messages(view()).map(({ id }) => id));
  }
  expect(ids[0]).toHaveLength(1);
  expect(ids[1]).toEqual(ids[0]);
});

test('a jump that keeps growing is notified again at half as much more, then at twice what was notified', async () => {
  const { sync, view, clock, jumpTo } = await startWithHistory();

  const notified: number[] = [];
  for (const credits of [16_000, 16_000, 23_999, 24_000, 47_999, 48_000, 143_999]) {
    clock.advance(25 * HOUR_MS);
    jumpTo(credits);
    const { alerts } = await sync();
    if (alerts.due > 0) notified.push(credits);
  }

  const ledger = view();
  expect(notified).toEqual([16_000, 24_000, 48_000]);
  expect(typesOf(ledger)).toEqual(['alert.firing', 'alert.escalated', 'alert.escalated']);
  expect(ledger.rows('SELECT level, state, told_times, current_credits FROM finance_alerts')).toEqual([
    { level: 'happened', state: 'firing', told_times: 2n, current_credits: 143_999n },
  ]);
});

test('a jump that grows by leaps is notified once a day, with what it has come to by then', async () => {
  const { sync, view, clock, jumpTo } = await startWithHistory();
  const notified: number[] = [];
  for (const [hours, credits] of [
    ...[
      [0, 16_000],
      [1, 40_000],
      [12, 200_000],
      [10, 1_000_000],
      [1, 46_000_000],
    ],
    [1, 46_000_000],
  ] as const) {
    clock.advance(hours * HOUR_MS);
    jumpTo(credits);
    const { alerts } = await sync();
    if (alerts.due > 0) notified.push(credits);
  }
  expect(notified).toEqual([16_000, 46_000_000]);
  expect(typesOf(view())).toEqual(['alert.firing', 'alert.escalated']);
});

test('credits of the threshold are certain, one less is nothing to a month that has no past to be judged by', async () => {
  const { sync, view, jumpTo } = await startWithHistory();

  jumpTo(14_999);
  await sync();
  const ledger = view();
  expect(ledger.rows('SELECT level, state FROM finance_alerts')).toEqual([]);

  jumpTo(15_000);
  await sync();
  expect(ledger.rows('SELECT level, state FROM finance_alerts')).toEqual([{ level: 'happened', state: 'firing' }]);
});

test('a jump becomes final once its period is over for 48 hours, and that is notified once', async () => {
  const { sync, view, clock, context, jumpTo } = await startWithHistory();
  jumpTo(16_000);
  await sync();
  const ledger = view();

  clock.set(SETTLED - 2_000);
  await sync();
  expect(ledger.value('SELECT level FROM finance_alerts')).toBe('happened');

  clock.set(SETTLED);
  await sync();
  clock.advance(HOUR_MS);
  await sync();

  expect(ledger.rows("SELECT level, state FROM finance_alerts WHERE rule = 'jump'")).toEqual([
    { level: 'settled', state: 'firing' },
  ]);
  await nextSummary({ clock, context });
  expect(typesOf(ledger, 'jump')).toEqual(['alert.firing', 'alert.escalated']);
});

test.each([{ lookbackPeriods: 0 }, { lookbackPeriods: 2 }])(
  'a jump that shows only after the end of its month is found with lookback $lookbackPeriods',
  async (settings) => {
    const { sync, view, clock, jumpTo } = await startWithHistory({ settings });

    clock.set(Date.UTC(2026, 3, 1, 6));
    jumpTo(16_000);
    await sync();

    const ledger = view();
    expect(ledger.rows('SELECT period, level FROM finance_alerts')).toEqual([{ period: '2026-03', level: 'happened' }]);
    clock.set(SETTLED);
    await sync();
    expect(ledger.value('SELECT level FROM finance_alerts')).toBe('settled');
  },
);

test('the first sync of a workspace seeds what it finds: an alert, but no notification', async () => {
  const { sync, view, upstream } = await startFixture();
  useHistory(upstream);
  upstream.set({ tenantId: 'jumper', period: '2026-03', credits: 16_000, requests: 10 });

  const { alerts } = await sync();
  await sync();

  const ledger = view();
  expect(alerts.changes).toMatchObject([{ change: 'fired', silent: true }]);
  expect(ledger.rows('SELECT level, state FROM finance_alerts')).toEqual([{ level: 'happened', state: 'firing' }]);
  expect(messages(ledger)).toEqual([]);
});

test('a seeded alert that is resolved is resolved silently, because nobody heard of it', async () => {
  const { sync, view, upstream } = await startFixture();
  useHistory(upstream);
  upstream.set({ tenantId: 'jumper', period: '2026-03', credits: 16_000, requests: 10 });
  await sync();

  upstream.set({ tenantId: 'jumper', period: '2026-03', credits: 8_000, requests: 10 });
  await sync();
  await sync();

  const ledger = view();
  expect(ledger.value("SELECT state FROM finance_alerts WHERE rule = 'jump'")).toBe('resolved');
  expect(typesOf(ledger, 'jump')).toEqual([]);
});

test('an open period of few days resolves its alert when two runs see less than nine tenths of the threshold', async () => {
  const { sync, view, clock, context, jumpTo } = await startWithHistory();
  clock.set(Date.UTC(2026, 2, 16, 12));
  jumpTo(16_000);
  await sync();
  const ledger = view();
  const state = () => ledger.value("SELECT state FROM finance_alerts WHERE rule = 'jump'");

  for (const credits of [13_500, 13_500, 13_499, 13_500, 13_499]) {
    jumpTo(credits);
    await sync();
    expect(state()).toBe('firing');
  }
  await sync();
  await sync();
  expect(state()).toBe('resolved');
  await nextSummary({ clock, context });
  expect(typesOf(ledger, 'jump')).toEqual(['alert.firing', 'alert.resolved']);
});

test('a resolved alert that jumps again fires again a day after it was told, under a new notification id', async () => {
  const { sync, view, clock, jumpTo } = await startWithHistory();
  for (const credits of [16_000, 8_000, 8_000, 17_000]) {
    clock.advance(HOUR_MS);
    jumpTo(credits);
    await sync();
  }
  const ledger = view();
  expect(ledger.value("SELECT state FROM finance_alerts WHERE rule = 'jump'")).toBe('firing');
  expect(typesOf(ledger, 'jump')).toEqual(['alert.firing']);

  clock.advance(22 * HOUR_MS);
  await sync();
  expect(typesOf(ledger, 'jump')).toEqual(['alert.firing', 'alert.firing']);
  expect(ledger.value("SELECT count(*) FROM finance_alerts WHERE rule = 'jump'")).toBe(1n);
});

test('a correction of the period before makes a jump of the unchanged current one', async () => {
  const { sync, view, upstream } = await startWithHistory();
  upstream.set({ tenantId: 'jumper', period: '2026-02', credits: 2_000, requests: 10 });
  await sync();

  const ledger = view();
  expect(
    ledger.rows("SELECT period, previous_credits, current_credits FROM finance_alerts WHERE rule = 'jump'"),
  ).toEqual([{ period: '2026-03', previous_credits: 2_000n, current_credits: 6_000n }]);
});

test('a small first month that is followed by a huge one is a jump, by what a whole month of it would have been', async () => {
  const { sync, view, upstream, clock } = await startWithHistory();
  upstream.set({ tenantId: 'young', period: '2026-03', credits: 50, requests: 1 });
  await sync();
  clock.set(Date.UTC(2026, 3, 2));
  await sync();
  upstream.set({ tenantId: 'young', period: '2026-04', credits: 1_100, requests: 1 });
  await sync();
  const ledger = view();
  const jumps = () =>
    ledger.rows("SELECT tenant_id, period, threshold FROM finance_alerts WHERE rule = 'jump' AND tenant_id = 'young'");
  expect(jumps()).toEqual([]);

  upstream.set({ tenantId: 'young', period: '2026-04', credits: 5_000_000, requests: 1 });
  await sync();
  expect(jumps()).toMatchObject([{ tenant_id: 'young', period: '2026-04' }]);
});

test.each([
  {
    why: 'the period before has zero credits',
    history: [
      ['2026-01', 10_000],
      ['2026-02', 0],
    ],
  },
  { why: 'the period before is missing', history: [['2026-01', 10_000]] },
  { why: 'the period before is the first of the tenant, and may be a day of many', history: [['2026-02', 5_000]] },
] as const)('there is no jump when $why', async ({ history }) => {
  const { sync, view, upstream } = await startWithHistory();
  for (const [period, credits] of history) upstream.set({ tenantId: 'other', period, credits, requests: 1 });
  await sync();
  upstream.set({ tenantId: 'other', period: '2026-03', credits: 90_000, requests: 1 });
  await sync();

  const ledger = view();
  expect(ledger.value("SELECT credits_used FROM finance_usage WHERE tenant_id = 'other' AND period = '2026-03'")).toBe(
    90_000n,
  );
  expect(ledger.rows("SELECT * FROM finance_alerts WHERE rule = 'jump'")).toEqual([]);
});

interface JumpFixture extends Fixture {
  jumpTo(credits: number): void;
}

/** A workspace whose first sync is done: nothing jumps yet, and the threshold of `jumper` in March is 15,000. */
async function startWithHistory(options: FixtureOptions = {}): Promise<JumpFixture> {
  const fixture = await startFixture(options);
  const { upstream, sync } = fixture;
  useHistory(upstream);
  await sync();
  return {
    ...fixture,
    jumpTo: (credits) => upstream.set({ tenantId: 'jumper', period: '2026-03', credits, requests: 10 }),
  };
}

function useHistory(upstream: Fixture['upstream']): void {
  for (const tenantId of ['jumper', 'steady']) {
    upstream.set({ tenantId, period: '2026-01', credits: 10_000, requests: 10 });
    upstream.set({ tenantId, period: '2026-02', credits: 10_000, requests: 10 });
    upstream.set({ tenantId, period: '2026-03', credits: 6_000, requests: 10 });
  }
}

/** What was notified, in order; of one rule when it is given. */
function typesOf(ledger: Ledger, rule?: string): string[] {
  const told = notifications(ledger).map(({ payload }) => payload);
  return told.filter((each) => rule === undefined || each.rule === rule).map(({ type }) => type);
}
