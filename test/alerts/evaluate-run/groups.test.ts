import { expect, test } from 'vitest';
import { deliverWaiting } from '../../support/messages.ts';
import { FIVE, heard, heardOf } from './jumps-ahead.ts';
import { HOUR_MS, put, startWithHistory, told } from './scene.ts';

test('five of sixteen tenants at once are one message that names each, the largest first, and so are their ends', async () => {
  const fixture = await startWithHistory(16);
  const { upstream, sync, view, context, clock } = fixture;
  for (const [index, tenant] of FIVE.entries()) put(upstream, tenant, ['2026-03', 30_000 + 100 * index]);
  await sync();
  const ledger = view();
  expect(heardOf(ledger)).toEqual(['opened e d c b a']);
  const [group] = heard(ledger);
  expect(group).toMatchObject({ type: 'alert.group', alert_count: 5, credits_change: 101_000, workspace_id: 'ws-1' });
  expect(group.summary).toBe(
    '5 of 16 tenants of ws-1 are over their March limit, +101,000 credits together. Largest: e 30,400 (February 10,000), d 30,300 (February 10,000), c 30,200 (February 10,000) and 2 more.',
  );

  for (const tenant of FIVE) put(upstream, tenant, ['2026-02', 40_000]);
  await sync();
  await sync();
  clock.advance(24 * HOUR_MS);
  await deliverWaiting(context);
  const digest = heard(ledger).find(({ type }) => type === 'alert.digest');
  expect(digest.alerts.filter(({ state }: { state: string }) => state === 'resolved')).toHaveLength(5);
});

test('a week after a group, a further tenant is sent on its own, and so is a member that grows', async () => {
  const { upstream, sync, view, clock } = await startWithHistory(16);
  for (const tenant of FIVE) put(upstream, tenant, ['2026-03', 30_000]);
  await sync();
  const ledger = view();
  clock.advance(7 * 24 * HOUR_MS);
  put(upstream, 'f', ['2026-03', 30_000_000]);
  put(upstream, 'c', ['2026-03', 90_000]);
  await sync();
  expect(heardOf(ledger)).toEqual(['opened a b c d e', 'grown c', 'opened f']);
  expect(
    ledger.value("SELECT count(*) FROM finance_alerts WHERE rule = 'workspace_jump' AND muted_because IS NULL"),
  ).toBe(1n);
});

test('a group member that grows within a day is sent a day after the group', async () => {
  const { upstream, sync, view, clock, context } = await startWithHistory(16);
  for (const tenant of FIVE) put(upstream, tenant, ['2026-03', 30_000]);
  await sync();
  const ledger = view();
  clock.advance(6 * HOUR_MS);
  put(upstream, 'c', ['2026-03', 90_000]);
  await sync();
  expect(heardOf(ledger)).toEqual(['opened a b c d e']);
  clock.advance(18 * HOUR_MS);
  await deliverWaiting(context);
  expect(heardOf(ledger)).toEqual(['opened a b c d e', 'grown c']);
});

test('tenants that follow a group within a day are one message a day after it; an outlier is sent at once', async () => {
  const { upstream, sync, view, clock } = await startWithHistory(16);
  for (const tenant of FIVE) put(upstream, tenant, ['2026-03', 16_000]);
  await sync();
  const ledger = view();
  clock.advance(6 * HOUR_MS);
  for (const tenant of ['f', 'g']) put(upstream, tenant, ['2026-03', 16_000]);
  await sync();
  clock.advance(6 * HOUR_MS);
  put(upstream, 'h', ['2026-03', 16_500]);
  put(upstream, 'i', ['2026-03', 45_000]);
  await sync();
  expect(heardOf(ledger)).toEqual(['opened a b c d e', 'opened i']);

  clock.advance(12 * HOUR_MS);
  put(upstream, 'j', ['2026-03', 16_000]);
  await sync();
  expect(heardOf(ledger)).toEqual(['opened a b c d e', 'opened i', 'opened h f g j']);
  clock.advance(25 * HOUR_MS);
  put(upstream, 'k', ['2026-03', 16_000]);
  await sync();
  expect(heardOf(ledger).at(-1)).toBe('opened k');
});

test('after five single messages within a day, further tenants are grouped', async () => {
  const { upstream, sync, view, clock } = await startWithHistory(30);
  for (const tenant of 'abcdefg') {
    clock.advance(HOUR_MS);
    put(upstream, tenant, ['2026-03', 30_000]);
    await sync();
  }
  const ledger = view();
  const first = ['opened a', 'opened b', 'opened c', 'opened d', 'opened e'];
  expect(heardOf(ledger)).toEqual(first);
  clock.advance(24 * HOUR_MS);
  await sync();
  expect(heardOf(ledger)).toEqual([...first, 'opened f g']);
});

test('four at once are sent one by one', async () => {
  const { upstream, sync, view } = await startWithHistory(16);
  for (const tenant of FIVE.slice(1)) put(upstream, tenant, ['2026-03', 30_000]);
  await sync();
  expect(heardOf(view())).toEqual(['opened b', 'opened c', 'opened d', 'opened e']);
});

test('a jump that comes and goes all day is sent once a day, and its end each time it was sent', async () => {
  const { upstream, sync, view, clock } = await startWithHistory();
  for (let hour = 0; hour < 72; hour += 2) {
    clock.advance(2 * HOUR_MS);
    const quarter = Math.floor(hour / 6) % 2;
    put(upstream, 'a', ['2026-03', quarter === 0 ? 16_000 : 8_000]);
    await sync();
  }
  const types = told(view()).filter((each) => each.startsWith('jump'));

  expect(types.filter((each) => each === 'jump alert.firing a')).toHaveLength(3);
  expect(types.filter((each) => each === 'jump alert.resolved a').length).toBeLessThanOrEqual(3);
  expect(types).not.toContain('jump alert.escalated a');
});
