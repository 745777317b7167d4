import { expect, test } from 'vitest';
import { evaluateRule } from '../../../src/alerts/evaluate-run.ts';
import { findCandidates } from '../../../src/alerts/rules/context/candidates.ts';
import { usageRule } from '../../../src/alerts/rules/rules.ts';
import { DEFAULT_ALERT_RULES } from '../../../src/config/schema/workspace-settings.ts';
import { periodAt } from '../../../src/core/period.ts';
import { RULES, type RuleName } from '../../../src/core/text/alert-words.ts';
import type { MergedRun } from '../../../src/ledger/journal/runs/apply-run.ts';
import { periodKeyOf } from '../../../src/ledger/store/schema/keys.ts';
import { dayWorld } from '../evaluate-run/day-world.ts';
import { judgingOf, play } from './candidate-play.ts';

const SEEDS = Array.from({ length: Number(process.env.CANDIDATE_SEEDS ?? 1) }, (_, index) => index + 1);
const BUDGETS = [{ tenant: '*', credits: 4_000n, at: [50, 100] }];

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
      const context = judgingOf(merged, settings);
      const tenants = connection.prepare('SELECT tenant_key FROM tenants').pluck().all() as number[];
      for (const periodKey of [current - 1, current]) {
        const facts = context.factsOf(periodKey);
        const look = { facts, all: true, isLate: false, settlesNow: facts.phase.settled };
        for (const name of RULES) {
          const rule = usageRule(name)?.detection;
          const conditions = rule?.candidates?.(context, look) ?? null;
          // A rule may look for nobody now, or only at what the run itself says.
          const looks = rule?.candidates === undefined ? rule?.inPeriod !== undefined : conditions !== null;
          if (!looks) continue;
          const found = new Set<number | null>(rule?.inPeriod?.(context, look));
          const candidates = conditions === null ? [] : findCandidates(context, look, [conditions]);
          for (const { tenant } of candidates) found.add(tenant.tenantKey);
          for (const tenantKey of tenants) {
            const seen = evaluateRule(context, name, context.read(periodKey, tenantKey), null);
            if (seen?.judgement.verdict !== 'holds') continue;
            // Who is behind its budget is not asked whether it will pass it all the same: that would read everybody's past.
            if (name === 'budget' && seen.judgement.finding.confirmAfterMs !== null) continue;
            held.add(name);
            times += 1;
            expect([...found], `${name} of ${context.tenantId(tenantKey)}`).toContain(tenantKey);
          }
        }
      }
    },
    world,
  );
  expect(times).toBeGreaterThan(100);
  expect([...held]).toEqual(expect.arrayContaining(['jump', 'drop', 'new_spend', 'budget']));
});
