import { expect, test } from 'vitest';
import { startFixture } from '../../support/sandbox-fixture.ts';
import { FIVE, heardOf } from './jumps-ahead.ts';
import { playDays, states, told } from './scene.ts';

/** Sixty tenants of 400 credits a day, of whom five use more in March. */
async function startWithFiveAhead(more: (tenant: string, day: string) => number) {
  const fixture = await startFixture({ settings: { lookbackPeriods: 1 } });
  const others = Array.from({ length: 55 }, (_, index) => `other-${index}`);
  const tenants = Object.fromEntries(
    [...FIVE, ...others].map((tenant) => [
      tenant,
      (day: string) => (FIVE.includes(tenant) && day >= '2026-03' ? more(tenant, day) : 400),
    ]),
  );
  await playDays(fixture, '2026-01-20', '2026-03-12', tenants);
  return { ...fixture, playTo: (at: string) => playDays(fixture, at, at, tenants) };
}

test('more than a twentieth of the tenants waiting get a second day, even if a run is slightly early', async () => {
  const { playTo, view } = await startWithFiveAhead(() => 800);
  const ledger = view();
  expect(states(ledger, 'jump').filter((each) => each.endsWith('pending'))).toHaveLength(5);
  await playTo('2026-03-13');
  expect(told(ledger)).toEqual([]);

  await playTo('2026-03-13T23:40:00Z');
  expect(heardOf(ledger)).toEqual(['opened a b c d e']);
});

test('tenants that wait together get the second day, in any order of evaluation', async () => {
  const { playTo, view } = await startWithFiveAhead((tenant, day) => {
    return 'ab'.includes(tenant) ? (day < '2026-03-12' ? 700 : 0) : 800;
  });
  const ledger = view();
  await playTo('2026-03-13');
  expect(states(ledger, 'jump')).toEqual(
    ['a', 'b', 'c', 'd', 'e'].map(
      (tenant) => `jump ${tenant} 2026-03 ${'ab'.includes(tenant) ? 'expired' : 'pending'}`,
    ),
  );

  await playTo('2026-03-14');
  expect(told(ledger)).toEqual(['c', 'd', 'e'].map((tenant) => `jump alert.firing ${tenant}`));
});
