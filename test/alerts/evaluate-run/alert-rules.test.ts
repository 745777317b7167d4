import { expect, test } from 'vitest';
import { messages } from '../../support/messages.ts';
import { startFixture, WORKSPACE } from '../../support/sandbox-fixture.ts';
import { HOUR_MS, playDays, put, startWithHistory, states, told } from './scene.ts';

test('a previous period last read before its end is no baseline until it is read again', async () => {
  const { upstream, sync, view, clock } = await startFixture({ settings: { lookbackPeriods: 0 } });
  put(upstream, 'a', ['2026-01', 10_000], ['2026-02', 4_000]);
  put(upstream, 'newcomer', ['2026-01', 0]);
  clock.set(Date.UTC(2026, 1, 12));
  await sync();
  put(upstream, 'a', ['2026-02', 10_000], ['2026-03', 9_000]);
  put(upstream, 'newcomer', ['2026-03', 9_000]);
  clock.set(Date.UTC(2026, 2, 20));
  await sync({ from: '2026-03' });
  const ledger = view();
  expect(states(ledger)).toEqual([]);

  put(upstream, 'a', ['2026-03', 20_000]);
  await sync({ from: '2026-02' });
  expect(states(ledger)).toEqual(['jump a 2026-03 firing', 'new_spend newcomer 2026-03 firing']);
});

test('tenants absent from the first period of a workspace are not new in the second', async () => {
  const { upstream, sync, view } = await startFixture();
  put(upstream, 'a', ['2026-02', 10]);
  await sync();
  put(upstream, 'b', ['2026-03', 9_000]);
  await sync();

  expect(states(view())).toEqual([]);
});

test('the first period of a tenant is no baseline, the second is', async () => {
  const { upstream, sync, view, clock } = await startFixture();
  put(upstream, 'a', ['2025-12', 10], ['2026-01', 10], ['2026-02', 10]);
  put(upstream, 'young', ['2026-02', 1_500]);
  await sync();
  put(upstream, 'young', ['2026-03', 60_000]);
  await sync();
  expect(states(view(), 'jump')).toEqual([]);

  clock.set(Date.UTC(2026, 3, 20));
  put(upstream, 'young', ['2026-04', 90_000]);
  await sync();
  expect(states(view(), 'jump')).toEqual(['jump young 2026-04 firing']);
});

test('a forecast is sent once a rise has lasted for ten days, at the second of two runs a day apart', async () => {
  const fixture = await startFixture({ settings: { lookbackPeriods: 1 } });
  const { view } = fixture;
  const usage = { twice: (day: string) => (day >= '2026-03' ? 800 : 400), even: () => 400 };
  await playDays(fixture, '2026-01-20', '2026-03-11', usage);
  const ledger = view();
  expect(states(ledger)).toEqual([]);

  await playDays(fixture, '2026-03-12', '2026-03-12', usage);
  expect(states(ledger)).toEqual(['jump twice 2026-03 pending']);
  expect(told(ledger)).toEqual([]);

  await playDays(fixture, '2026-03-13', '2026-03-13', usage);
  expect(told(ledger)).toEqual(['jump alert.firing twice']);
});

test('a tenant that front-loads every month is not sent, one that doubles it is', async () => {
  const fixture = await startFixture({ settings: { lookbackPeriods: 1 } });
  const front = (day: string) => (Number(day.slice(8)) <= 4 ? 2_000 : 100);
  await playDays(fixture, '2026-01-20', '2026-03-10', {
    same: front,
    twice: (day) => front(day) * (day >= '2026-03' ? 2 : 1),
  });

  expect(told(fixture.view())).toEqual(['jump alert.firing twice']);
});

test('a withdrawn record of a closed month is sent once, and is no new spend in the next month', async () => {
  const { upstream, sync, view, context } = await startWithHistory();
  const writer = await context.writer();
  await writer.closePeriod({
    ...{ workspaceId: WORKSPACE, period: '2026-02', by: 'Ada', note: '', force: true },
    ...{ settleHours: 48, nowMs: context.clock.now() },
  });
  upstream.remove('a', '2026-02');
  for (let run = 0; run < 3; run += 1) await sync();

  expect(told(view())).toEqual(['withdrawn alert.firing a']);
});

test('an exceeded plan is sent once', async () => {
  const { upstream, sync, view, context, clock } = await startWithHistory();
  const writer = await context.writer();
  await writer.addSilence({
    ...{ kind: 'plan' as const, workspaceId: WORKSPACE, rule: '*', tenant: 'a', period: '2026-03' },
    ...{ upToCredits: 20_000n, untilMs: clock.now() + 40 * 86_400_000, reason: 'launch', by: 'Ada' },
    nowMs: clock.now(),
  });
  for (const credits of [16_000, 19_000, 20_001, 21_000]) {
    clock.advance(HOUR_MS);
    put(upstream, 'a', ['2026-03', credits]);
    await sync();
  }

  const ledger = view();
  expect(told(ledger)).toEqual(['jump alert.firing a']);
  const payload = messages(ledger)[0]?.payload;
  expect(payload.evidence.planned_bounds).toEqual([20_000]);
  expect(payload.summary).toContain('Planned: up to 20,000.');
});

test('runs without changed figures change no alert', async () => {
  const { upstream, sync, view } = await startWithHistory(6);
  put(upstream, 'a', ['2026-03', 90_000]);
  put(upstream, 'b', ['2026-03', 500]);
  put(upstream, 'c', ['2026-03', 8_000]);
  await sync();
  const ledger = view();
  const tables = ['alerts', 'alert_transitions', 'alert_notified', 'deliveries', 'delivery_members'];
  const all = () => tables.map((table) => ledger.rows(`SELECT * FROM ${table}`));
  await sync();
  const before = all();
  for (let run = 0; run < 3; run += 1) expect((await sync()).alerts.changes).toEqual([]);

  expect(all()).toEqual(before);
});
