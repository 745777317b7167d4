import { expect, test } from 'vitest';
import { startFixture } from '../../support/sandbox-fixture.ts';
import { playDays, states } from './scene.ts';

test('a month that returns from a jump is no drop, also after a first month; one below the earlier level is', {
  timeout: 120_000,
}, async () => {
  const fixture = await startFixture({ settings: { lookbackPeriods: 1 } });
  const each = (credits: number) => Math.round(credits / 28);
  const uses = (after: number) => (day: string) => {
    if (day >= '2026-03') return each(after);
    return each(day >= '2026-02' ? 30_000 : 10_000);
  };
  const old = { steady: () => 300, 'old, back': uses(10_000), 'old, below': uses(3_000) };
  // A first month of ten days.
  const young = (after: number) => (day: string) => (day >= '2026-01-22' ? uses(after)(day) : 0);
  await playDays(fixture, '2025-12-10', '2026-01-22', old);
  await playDays(fixture, '2026-01-23', '2026-04-04', {
    ...old,
    ...{ 'young, back': young(10_000), 'young, below': young(3_000) },
  });
  expect(states(fixture.view(), 'jump')).toHaveLength(4);
  expect(states(fixture.view(), 'drop').map((state) => state.replace(/ firing$/, ''))).toEqual([
    'drop old, below 2026-03',
    'drop young, below 2026-03',
  ]);
});
