import { UsageHistory } from '../../../src/alerts/forecast/usage-history.ts';
import { createPeriodFacts } from '../../../src/alerts/rules/context/period-facts.ts';
import { createRuleContext, type RuleContext } from '../../../src/alerts/rules/context/rule-context.ts';
import { tenantSettings } from '../../../src/alerts/rules/context/tenant-settings.ts';
import type { AlertSettings } from '../../../src/config/types.ts';
import type { MergedRun } from '../../../src/ledger/journal/runs/apply-run.ts';
import { Random } from '../../support/random.ts';
import { DAY_MS, dayWorld, HOUR_MS } from '../evaluate-run/day-world.ts';

const TENANTS = 30;
export const FROM = Date.UTC(2026, 0, 10);
export const DAYS = 95;

/** Tenants that use something on some days and now and then many times as much; some of them stop, and some begin late. */
export async function play(seed: number, each: (nowMs: number) => void, world = dayWorld()) {
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

/** What the rules are asked by. */
export function judgingOf(merged: MergedRun, settings: AlertSettings): RuleContext {
  const { connection, nowMs } = merged;
  const names = new Map(
    connection.prepare('SELECT tenant_key, tenant_id FROM tenants').raw().all() as [number, string][],
  );
  return createRuleContext({
    ...{ merged, settings: tenantSettings(settings), priceOf: null },
    factsOf: createPeriodFacts(connection, { workspaceKey: 1, nowMs, settleHours: 48 }),
    usageHistory: new UsageHistory({ connection, workspaceKey: 1, nowMs }),
    tenantId: (tenantKey) => names.get(tenantKey) ?? '',
  });
}
