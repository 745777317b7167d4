import { expect, test } from 'vitest';
import { Random } from '../../support/random.ts';
import { DAY_MS, dayWorld, HOUR_MS } from './day-world.ts';

const TENANTS = Array.from({ length: 60 }, (_, index) => `t-${index}`);
const FROM = Date.UTC(2026, 0, 28);
const CAUSE = Date.UTC(2026, 2, 10);
const UNTIL = Date.UTC(2026, 3, 1);
const COMMON = 3;
const RATIO = 1.5;
const FLOOR = 1000;

/** Sixty tenants of uneven days; from 10 March on each uses so many times as much. What the service said is kept beside it. */
async function play(timesOf: (tenant: string) => number) {
  const random = new Random(11);
  const world = dayWorld();
  const used = new Map<string, number>();
  const usedIn = (tenant: string, period: string) => used.get(`${tenant} ${period}`) ?? 0;
  for (let dayMs = FROM; dayMs < UNTIL; dayMs += DAY_MS) {
    const period = new Date(dayMs).toISOString().slice(0, 7);
    for (const [index, tenant] of TENANTS.entries()) {
      const times = dayMs >= CAUSE && period === '2026-03' ? timesOf(tenant) : 1;
      const credits = Math.round((300 + 40 * index) * (0.6 + 0.8 * random.fraction()) * times);
      used.set(`${tenant} ${period}`, usedIn(tenant, period) + credits);
      world.post(tenant, dayMs, credits);
    }
    await world.read(dayMs + DAY_MS + HOUR_MS);
  }
  const opened = world
    .notifications()
    .flatMap(({ payload }) => (payload.type === 'alert.digest' ? [] : (payload.alerts ?? [payload])))
    .filter(({ rule, event }) => rule.endsWith('jump') && ['opened', 'again'].includes(event));
  return { world, opened, usedIn };
}

test('a shared cause in a workspace of sixty is one message within two days, with the five largest tenants', async () => {
  const { world, opened, usedIn } = await play(() => COMMON);
  const jumped = TENANTS.filter((tenant) => usedIn(tenant, '2026-03') >= RATIO * usedIn(tenant, '2026-02'));
  expect(jumped.length).toBeGreaterThan(50);

  expect(opened.map(({ rule, tenant_id }) => `${rule} ${tenant_id}`)).toEqual(['workspace_jump null']);
  const [message] = opened;
  expect(Date.parse(message.created_at)).toBeLessThan(CAUSE + 3 * DAY_MS + 2 * HOUR_MS);
  const { largest, common_growth } = message.evidence.tenants;
  const growths = TENANTS.map((tenant) => usedIn(tenant, '2026-03') / usedIn(tenant, '2026-02')).sort((a, b) => a - b);
  expect(common_growth / (growths[30] ?? 0)).toBeGreaterThan(0.8);
  expect(common_growth / (growths[30] ?? 0)).toBeLessThan(1.2);
  expect(largest).toHaveLength(5);
  for (const { tenant_id } of largest) expect(Number(tenant_id.slice(2))).toBeGreaterThan(40);
  expect(message.summary).toContain(
    `More than half of its tenants will probably reach at least ${common_growth}x February.`,
  );
  expect(message.summary).toContain(`Largest increases: ${largest[0].tenant_id} `);
  expect(
    world.rows("SELECT count(*) FROM finance_alerts WHERE rule = 'jump' AND muted_because LIKE 'inhibited:%'"),
  ).toEqual([jumped.length]);
});

test('a tenant that grows beyond a shared cause is sent on its own', async () => {
  const beyond = ['t-7', 't-40'];
  const { opened, usedIn } = await play((tenant) => (beyond.includes(tenant) ? 4 * COMMON : COMMON));
  expect(opened.map(({ rule, tenant_id }) => `${rule} ${tenant_id}`).sort()).toEqual([
    ...beyond.map((tenant) => `jump ${tenant}`).sort(),
    'workspace_jump null',
  ]);
  const { common_growth } = opened.find(({ rule }) => rule === 'workspace_jump').evidence.tenants;
  for (const tenant of TENANTS) {
    const base = usedIn(tenant, '2026-02') * common_growth;
    const isBeyond = usedIn(tenant, '2026-03') >= Math.max(RATIO * base, base + FLOOR);
    expect(isBeyond, tenant).toBe(beyond.includes(tenant));
  }
});

test('the growth of one tenant alone inhibits no other', async () => {
  const { opened } = await play((tenant) => (tenant === 't-59' ? 200 : tenant === 't-3' ? COMMON : 1));
  expect(opened.map(({ rule, tenant_id }) => `${rule} ${tenant_id}`).sort()).toEqual([
    'jump t-3',
    'jump t-59',
    'workspace_jump null',
  ]);
  expect(opened.find(({ rule }) => rule === 'workspace_jump').evidence.tenants.common_growth).toBeNull();
});

test('a baseline that was never sent inhibits no jump', async () => {
  const world = dayWorld();
  const [tenants, grown] = [TENANTS.slice(0, 5), TENANTS.slice(0, 3)];
  for (const period of ['2025-12', '2026-01', '2026-02']) {
    world.state('large', period, period === '2026-02' ? 900_000n : 1_000n);
    for (const tenant of tenants) world.state(tenant, period, 5_000n);
  }
  await world.read(Date.UTC(2026, 2, 5));
  for (const tenant of grown) world.state(tenant, '2026-02', 50_000n);
  await world.read(Date.UTC(2026, 2, 6));
  await world.read(Date.UTC(2026, 2, 7));
  expect(world.rows("SELECT json_extract(basis, '$.commonGrowth') FROM alerts WHERE rule = 'workspace_jump'")).toEqual([
    10,
  ]);
  const jumps = world.notifications().filter(({ payload }) => payload.rule === 'jump');
  expect(jumps.flatMap(({ payload }) => payload.alerts ?? [payload]).map((one) => one.tenant_id)).toEqual(grown);
});

test('the only tenant of the previous month does not inhibit its own jump', async () => {
  const world = dayWorld();
  for (const period of ['2025-12', '2026-01', '2026-02']) world.state('old', period, 5_000n);
  for (const tenant of TENANTS.slice(0, 5)) world.state(tenant, '2026-02', 1n);
  await world.read(Date.UTC(2026, 1, 10));
  for (const tenant of TENANTS.slice(0, 5)) world.state(tenant, '2026-02', 180_000n);
  await world.read(Date.UTC(2026, 2, 5));
  await world.read(Date.UTC(2026, 2, 6));
  world.state('old', '2026-02', 500_000n);
  await world.read(Date.UTC(2026, 2, 7));
  await world.read(Date.UTC(2026, 2, 9));
  const told = world.notifications().flatMap(({ payload }) => payload.alerts ?? [payload]);
  expect(told.map(({ rule }) => rule)).toContain('workspace_jump');
  expect(told.filter(({ rule }) => rule === 'jump').map((one) => one.tenant_id)).toEqual(['old']);
});
