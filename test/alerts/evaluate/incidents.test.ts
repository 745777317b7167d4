import { expect, test } from 'vitest';
import { startFixture } from '../../support/sandbox-fixture.ts';
import { HOUR_MS, playDays, put, startWithHistory, states, told } from './scene.ts';

const ofTenants = (all: readonly string[]) => all.filter((each) => !each.startsWith('workspace_jump'));

test('five of sixteen tenants at once are one incident, which ends with the last of them', async () => {
  const fixture = await startWithHistory(16);
  const { upstream, sync, view } = fixture;
  const five = ['a', 'b', 'c', 'd', 'e'];
  for (const tenant of five) put(upstream, tenant, ['2026-03', 30_000]);
  await sync();
  const ledger = view();
  expect(told(ledger)).toEqual(['incident alert.firing *']);
  expect(ledger.value("SELECT count(*) FROM finance_alerts WHERE muted_because LIKE 'incident:%'")).toBe(5n);
  const payload = JSON.parse(String(ledger.value('SELECT payload FROM outbox WHERE payload LIKE \'%"incident"%\'')));
  expect(payload.evidence).toMatchObject({ tenants: five, tenant_count: 5 });

  for (const tenant of five) put(upstream, tenant, ['2026-02', 40_000]);
  await sync();
  await sync();
  // What settled in February has changed for all five of them: that is the next incident.
  expect(told(ledger).slice(1).sort()).toEqual(['incident alert.firing *', 'incident alert.resolved *']);
});

test('tenants that jump in several runs of a day are gathered into one incident, those of another day are not', async () => {
  const { upstream, sync, view, clock } = await startWithHistory(16);
  for (const tenant of ['a', 'b', 'c', 'd']) put(upstream, tenant, ['2026-03', 30_000]);
  await sync();
  const ledger = view();
  expect(told(ledger)).toEqual(['a', 'b', 'c', 'd'].map((tenant) => `jump alert.firing ${tenant}`));
  clock.advance(25 * HOUR_MS);
  put(upstream, 'e', ['2026-03', 30_000]);
  await sync();
  expect(ofTenants(told(ledger)).slice(4)).toEqual(['jump alert.firing e']);

  for (const tenant of ['f', 'g', 'h']) {
    clock.advance(7 * HOUR_MS);
    put(upstream, tenant, ['2026-03', 30_000]);
    await sync();
  }
  expect(ofTenants(told(ledger)).slice(5)).toEqual(['f', 'g', 'h'].map((tenant) => `jump alert.firing ${tenant}`));
  put(upstream, 'i', ['2026-03', 30_000]);
  put(upstream, 'j', ['2026-03', 30_000]);
  await sync();

  // e to j within a day: those that were told are named once more, the others by the incident alone.
  expect(ofTenants(told(ledger)).slice(8)).toEqual(['incident alert.firing *']);
  const [payload] = ledger.rows('SELECT payload FROM outbox WHERE payload LIKE \'%"incident"%\'');
  expect(JSON.parse(String(payload?.payload)).evidence.tenants).toEqual(['e', 'f', 'g', 'h', 'i', 'j']);
});

test('a member of an incident that runs away from the others is told within the run that sees it', async () => {
  const { upstream, sync, view, clock } = await startWithHistory(16);
  const five = ['a', 'b', 'c', 'd', 'e'];
  for (const tenant of five) put(upstream, tenant, ['2026-03', 30_000]);
  await sync();
  const ledger = view();
  clock.advance(6 * HOUR_MS);
  put(upstream, 'a', ['2026-03', 36_000]);
  put(upstream, 'e', ['2026-03', 46_020_000]);
  await sync();

  expect(told(ledger)).toEqual(['incident alert.firing *', 'jump alert.escalated e']);
  expect(ledger.value("SELECT digest_at FROM outbox WHERE payload LIKE '%escalated%'")).toBeNull();
});

test('a jump that comes and goes all day is told once a day, and its end each time it was told', async () => {
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

/** Twenty tenants of 400 credits a day, of whom five use more in March. */
async function startWithFiveAhead(more: (tenant: string, day: string) => number) {
  const fixture = await startFixture({ settings: { lookbackPeriods: 1 } });
  const tenants = Object.fromEntries(
    Array.from('abcdefghijklmnopqrst', (tenant) => [
      tenant,
      (day: string) => ('abcde'.includes(tenant) && day >= '2026-03' ? more(tenant, day) : 400),
    ]),
  );
  await playDays(fixture, '2026-01-20', '2026-03-06', tenants);
  return { ...fixture, playTo: (at: string) => playDays(fixture, at, at, tenants) };
}

test('more than a tenth that wait have a second day, the run a little before its end included', async () => {
  const { playTo, view } = await startWithFiveAhead(() => 800);
  const ledger = view();
  expect(states(ledger, 'jump').filter((each) => each.endsWith('pending'))).toHaveLength(5);
  await playTo('2026-03-07');
  expect(told(ledger)).toEqual([]);

  await playTo('2026-03-07T23:40:00Z');
  expect(told(ledger)).toEqual(['a', 'b', 'c', 'd', 'e'].map((tenant) => `jump alert.firing ${tenant}`));
});

test('who waits in a crowd as a run begins has the second day, whomever of it the run looks at first', async () => {
  const { playTo, view } = await startWithFiveAhead((tenant, day) => {
    return 'ab'.includes(tenant) ? (day < '2026-03-06' ? 610 : 0) : 800;
  });
  const ledger = view();
  await playTo('2026-03-07');
  expect(states(ledger, 'jump')).toEqual(
    ['a', 'b', 'c', 'd', 'e'].map(
      (tenant) => `jump ${tenant} 2026-03 ${'ab'.includes(tenant) ? 'expired' : 'pending'}`,
    ),
  );

  await playTo('2026-03-08');
  expect(told(ledger)).toEqual(['c', 'd', 'e'].map((tenant) => `jump alert.firing ${tenant}`));
});
