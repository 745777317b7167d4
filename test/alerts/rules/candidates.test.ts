import { expect, test } from 'vitest';
import { askRule } from '../../../src/alerts/evaluate/evaluate-run.ts';
import { Curves } from '../../../src/alerts/history/curves.ts';
import { findCandidates } from '../../../src/alerts/rules/judging/candidates.ts';
import { createJudging, type Judging } from '../../../src/alerts/rules/judging/judging.ts';
import { createPeriodFacts } from '../../../src/alerts/rules/judging/period-facts.ts';
import { tenantSettings } from '../../../src/alerts/rules/judging/tenant-settings.ts';
import { JUDGES } from '../../../src/alerts/rules/table.ts';
import { DEFAULT_ALERT_RULES } from '../../../src/config/schema/workspace-settings.ts';
import type { AlertSettings } from '../../../src/config/types.ts';
import { periodAt } from '../../../src/core/period.ts';
import { RULES, type RuleName } from '../../../src/core/text/alert-words.ts';
import type { MergedRun } from '../../../src/ledger/journal/runs/apply-run.ts';
import { periodKeyOf } from '../../../src/ledger/store/schema/keys.ts';
import { Random } from '../../support/random.ts';
import { DAY_MS, dayWorld, HOUR_MS } from '../evaluate/day-world.ts';

const TENANTS = 30;
const FROM = Date.UTC(2026, 0, 10);
const DAYS = 95;
const SEEDS = Array.from({ length: Number(process.env.CANDIDATE_SEEDS ?? 1) }, (_, index) => index + 1);

/** Tenants that use something on some days and now and then many times as much; some of them stop, and some begin late. */
async function play(seed: number, each: (nowMs: number) => void, world = dayWorld()) {
  const random = new Random(seed);
  const sizes = Array.from({ length: TENANTS }, () => 20 + random.below(800));
  for (let day = 0; day < DAYS; day += 1) {
    const dayMs = FROM + day * DAY_MS;
    for (const [tenant, size] of sizes.entries()) {
      const isAway = (tenant % 7 === 0 && day > 40 + tenant) || (tenant % 9 === 4 && day < 55);
      const isQuiet = random.below(5) === 0 || isAway;
      const factor = random.below(12) === 0 ? 8 : tenant % 5 === 0 && day > 45 ? 3 : 1;
      if (!isQuiet) world.post(`t-${tenant}`, dayMs, Math.round(size * factor * (0.6 + random.fraction())));
    }
    const nowMs = dayMs + 12 * HOUR_MS;
    await world.read(nowMs);
    each(nowMs);
  }
  return world;
}

const BUDGETS = [{ tenant: '*', credits: 4_000n, at: [50, 100] }];

/** What the rules are asked by. */
function judgingOf(merged: MergedRun, settings: AlertSettings): Judging {
  const { connection, nowMs } = merged;
  const names = new Map(
    connection.prepare('SELECT tenant_key, tenant_id FROM tenants').raw().all() as [number, string][],
  );
  return createJudging({
    ...{ merged, settings: tenantSettings(settings), priceOf: null },
    factsOf: createPeriodFacts(connection, { workspaceKey: 1, nowMs, settleHours: 48 }),
    curves: new Curves({ connection, workspaceKey: 1, nowMs }),
    tenantId: (tenantKey) => names.get(tenantKey) ?? '',
  });
}

test.each(SEEDS)('what a rule leaves out when it looks for tenants it would not tell (seed %i)', async (seed) => {
  const world = dayWorld();
  const { connection } = world;
  const held = new Set<RuleName>();
  let times = 0;
  await play(
    seed,
    (nowMs) => {
      // As the run that has just been published looks at it.
      const current = periodKeyOf(1, periodAt(nowMs));
      const { last, runKey } = connection
        .prepare('SELECT max(entry_id) AS last, max(run_key) AS runKey FROM usage_entries')
        .get() as { last: number; runKey: number };
      const changed = new Map([current - 1, current].map((key) => [key, { after: 0, last }]));
      const run = { runKey, workspaceKey: 1 };
      const merged = { connection, run, changed, nowMs, lastEntryIdBefore: last } as unknown as MergedRun;
      const settings = { ...DEFAULT_ALERT_RULES, tenants: [], budgets: BUDGETS };
      const judging = judgingOf(merged, settings);
      const tenants = connection.prepare('SELECT tenant_key FROM tenants').pluck().all() as number[];
      for (const periodKey of [current - 1, current]) {
        const facts = judging.factsOf(periodKey);
        const look = { facts, all: true, isLate: false, settlesNow: facts.phase.settled };
        for (const name of RULES) {
          const rule = JUDGES[name];
          const conditions = rule?.candidates?.(judging, look) ?? null;
          // A rule may look for nobody now, or only at what the run itself says.
          const looks = rule?.candidates === undefined ? rule?.inPeriod !== undefined : conditions !== null;
          if (!looks) continue;
          const found = new Set<number | null>(rule?.inPeriod?.(judging, look));
          const candidates = conditions === null ? [] : findCandidates(judging, look, [conditions]);
          for (const { tenant } of candidates) found.add(tenant.tenantKey);
          for (const tenantKey of tenants) {
            const seen = askRule(judging, name, judging.read(periodKey, tenantKey), null);
            if (seen?.judgement.verdict !== 'holds') continue;
            // Who is behind its budget is not asked whether it will pass it all the same: that would read everybody's past.
            if (name === 'budget' && seen.judgement.finding.confirmAfterMs !== null) continue;
            held.add(name);
            times += 1;
            expect([...found], `${name} of ${judging.tenantId(tenantKey)}`).toContain(tenantKey);
          }
        }
      }
    },
    world,
  );
  expect(times).toBeGreaterThan(100);
  expect([...held]).toEqual(expect.arrayContaining(['jump', 'drop', 'new_spend', 'budget']));
});

test('few changed tenants and many are found alike', async () => {
  const settings = { ...DEFAULT_ALERT_RULES, tenants: [] };
  const world = await play(4, () => undefined);
  const { connection } = world;
  const nowMs = FROM + DAYS * DAY_MS + 12 * HOUR_MS;
  for (let tenant = 0; tenant < 20; tenant += 1) world.post(`t-${tenant}`, nowMs, 10);
  await world.read(nowMs);
  const period = periodKeyOf(1, periodAt(nowMs));
  const { runKey, last } = connection
    .prepare('SELECT run_key AS runKey, max(entry_id) AS last FROM usage_entries')
    .get() as { runKey: number; last: number };
  for (const periodKey of [period - 1, period]) {
    const find = (entries: number, all: boolean) => {
      const changed = new Map([[period, { after: last - entries, last }]]);
      const judging = judgingOf({ connection, run: { runKey }, changed, nowMs } as unknown as MergedRun, settings);
      const look = { facts: judging.factsOf(periodKey), all, isLate: false, settlesNow: false };
      const conditions = RULES.map((rule) => JUDGES[rule]?.candidates?.(judging, look) ?? null);
      return findCandidates(
        judging,
        look,
        conditions.filter((each) => each !== null),
      );
    };
    const entered = new Set(
      connection
        .prepare('SELECT tenant_key FROM usage_entries WHERE run_key = ? ORDER BY entry_id')
        .pluck()
        .all(runKey) as number[],
    );
    const all = find(0, true);
    const changed = all.filter(({ tenant }) => entered.has(tenant.tenantKey) && periodKey === period);
    const many = find(entered.size, false);
    expect(many).toEqual(changed);
    expect(all.length).toBeGreaterThan(changed.length);
    const few = new Set([...entered].slice(-5));
    const found = find(few.size, false);
    expect(found).toEqual(changed.filter(({ tenant }) => few.has(tenant.tenantKey)));
    expect(changed.length).toBeGreaterThan(periodKey === period ? 3 : -1);
  }
});
