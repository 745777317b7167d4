import { expect, test } from 'vitest';
import { createFactsReader, findCandidates } from '../../../src/alerts/evaluate/candidates.ts';
import { createJudge } from '../../../src/alerts/evaluate/judge/judge.ts';
import { createPeriodFacts } from '../../../src/alerts/evaluate/period-facts.ts';
import { tenantSettings } from '../../../src/alerts/evaluate/tenant-settings.ts';
import { Curves } from '../../../src/alerts/history/curves.ts';
import { DEFAULT_ALERT_RULES } from '../../../src/config/resolve/resolve-alerts.ts';
import { periodAt } from '../../../src/core/period.ts';
import type { MergedRun } from '../../../src/ledger/journal/runs/apply-run.ts';
import { periodKeyOf } from '../../../src/ledger/store/schema/keys.ts';
import { Random } from '../../support/random.ts';
import { DAY_MS, dayWorld, HOUR_MS } from '../evaluate/day-world.ts';

const TENANTS = 30;
const FROM = Date.UTC(2026, 0, 10);
const DAYS = 80;

/** Tenants that use something on some days and now and then many times as much; some of them stop. */
async function play(seed: number, each: (nowMs: number) => void, world = dayWorld()) {
  const random = new Random(seed);
  const sizes = Array.from({ length: TENANTS }, () => 20 + random.below(800));
  for (let day = 0; day < DAYS; day += 1) {
    const dayMs = FROM + day * DAY_MS;
    for (const [tenant, size] of sizes.entries()) {
      const isQuiet = random.below(5) === 0 || (tenant % 7 === 0 && day > 40 + tenant);
      const factor = random.below(12) === 0 ? 8 : tenant % 5 === 0 && day > 45 ? 3 : 1;
      if (!isQuiet) world.post(`t-${tenant}`, dayMs, Math.round(size * factor * (0.6 + random.fraction())));
    }
    const nowMs = dayMs + 12 * HOUR_MS;
    await world.read(nowMs);
    each(nowMs);
  }
  return world;
}

test.each([1, 2, 3])('what the candidates of a period leave out no rule would tell (seed %i)', async (seed) => {
  const world = dayWorld();
  const { connection } = world;
  let held = 0;
  await play(
    seed,
    (nowMs) => {
      // As the run that has just been published looks at it.
      const settings = tenantSettings({ ...DEFAULT_ALERT_RULES, minIncrease: 6_000, tenants: [] });
      const factsOf = createPeriodFacts(connection, { workspaceKey: 1, nowMs, settleHours: 48 });
      const curves = new Curves({ connection, history: connection, workspaceKey: 1, nowMs });
      const names = new Map(
        connection.prepare('SELECT tenant_key, tenant_id FROM tenants').raw().all() as [number, string][],
      );
      const tenantId = (tenantKey: number) => names.get(tenantKey) ?? '';
      const judge = createJudge({
        connection,
        settings,
        factsOf,
        tenantId,
        curves,
        nowMs,
        lastEntryIdBefore: 0,
        priceOf: null,
      });
      const read = createFactsReader(connection);
      const current = periodKeyOf(1, periodAt(nowMs));
      for (const periodKey of [current - 1, current]) {
        const facts = factsOf(periodKey);
        const from = facts.phase.elapsedMs >= 5 * DAY_MS && !facts.phase.over ? curves.between(periodKey, 4) : null;
        const recentFrom = from === null ? null : { ...from, isHere: true };
        const merged = { connection, run: { runKey: 0 }, changed: new Map() } as unknown as MergedRun;
        const found = findCandidates(merged, settings, { facts, all: true, isLate: false, recentFrom });
        const keys = new Set(found.map(({ tenantKey }) => tenantKey));
        for (const tenantKey of names.keys()) {
          const tenant = read(periodKey, tenantKey);
          const told = [judge.jump(tenant, null, true), judge.newSpend(tenant)];
          if (facts.phase.settled) told.push(judge.drop(tenant, null));
          const holds = told.filter(({ judgement }) => judgement.verdict === 'holds').map(({ rule }) => rule);
          held += holds.length;
          if (holds.length > 0) expect([...keys], `${holds.join()} of ${tenantId(tenantKey)}`).toContain(tenantKey);
        }
      }
    },
    world,
  );
  expect(held).toBeGreaterThan(100);
});

test('few changed tenants and many are found alike', async () => {
  const settings = tenantSettings({ ...DEFAULT_ALERT_RULES, tenants: [] });
  const world = await play(4, () => undefined);
  const { connection } = world;
  const nowMs = FROM + DAYS * DAY_MS + 12 * HOUR_MS;
  for (let tenant = 0; tenant < 20; tenant += 1) world.post(`t-${tenant}`, nowMs, 10);
  await world.read(nowMs);
  const factsOf = createPeriodFacts(connection, { workspaceKey: 1, nowMs, settleHours: 48 });
  const period = periodKeyOf(1, periodAt(nowMs));
  const { runKey, last } = connection
    .prepare('SELECT run_key AS runKey, max(entry_id) AS last FROM usage_entries')
    .get() as { runKey: number; last: number };
  for (const periodKey of [period - 1, period]) {
    const search = { facts: factsOf(periodKey), isLate: false, recentFrom: null };
    const merged = (entries: number): MergedRun =>
      ({
        connection,
        run: { runKey },
        changed: new Map([[period, { after: last - entries, last }]]),
      }) as unknown as MergedRun;
    const entered = new Set(
      connection
        .prepare('SELECT tenant_key FROM usage_entries WHERE run_key = ? ORDER BY entry_id')
        .pluck()
        .all(runKey) as number[],
    );
    const all = findCandidates(merged(0), settings, { ...search, all: true });
    const changed = all.filter(({ tenantKey }) => entered.has(tenantKey) && periodKey === period);
    const many = findCandidates(merged(entered.size), settings, { ...search, all: false });
    expect(many).toEqual(changed);
    expect(all.length).toBeGreaterThan(changed.length);
    const few = new Set([...entered].slice(-5));
    const found = findCandidates(merged(few.size), settings, { ...search, all: false });
    expect(found).toEqual(changed.filter(({ tenantKey }) => few.has(tenantKey)));
    expect(changed.length).toBeGreaterThan(periodKey === period ? 3 : -1);
  }
});
