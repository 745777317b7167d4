import { addPeriods, periodEndMs } from '../../../core/period.ts';
import { preparedSql } from '../../../ledger/store/schema/drizzle.ts';
import { extrapolateToMonth, findJumpThreshold, type Threshold } from '../../figures/threshold.ts';
import { historyOf, type RuleContext, type TenantFacts } from './rule-context.ts';

// The first run of a workspace is excluded: the usage that it finds began at an unknown time.
const firstSeenOf = preparedSql(
  `SELECT r.run_key FROM tenant_usage u JOIN runs r ON r.run_key = u.first_run_key
       JOIN workspaces w ON w.workspace_key = r.workspace_key
       WHERE u.period_key = ? AND u.tenant_key = ? AND w.first_run_key <> r.run_key`,
  'pluck',
);

/** Returns the run that first saw a tenant in a period; null if that was the workspace's first run. */
export function firstSeenBy({ connection }: RuleContext, periodKey: number, tenantKey: number): number | null {
  return (firstSeenOf(connection).get(periodKey, tenantKey) as number | undefined) ?? null;
}

/**
 * Returns the threshold for a tenant whose first period was `before` months ago: that period is extrapolated from its
 * first reading to a whole month. Null if it is unknown when the usage began.
 */
export function afterFirst(context: RuleContext, tenant: TenantFacts, before: number): Threshold | null {
  const { factsOf, usageHistory, settings, tenantId } = context;
  const firstKey = tenant.periodKey - before;
  const { period, phase } = factsOf(firstKey);
  const credits = historyOf(context, tenant)(before);
  const firstRunKey = firstSeenBy(context, firstKey, tenant.tenantKey);
  const firstSeenMs = firstRunKey === null ? null : usageHistory.endOf(firstRunKey);
  if (firstSeenMs === null || credits === null) return null;
  const whole = extrapolateToMonth(credits, periodEndMs(period) - firstSeenMs, phase.lengthMs);
  return findJumpThreshold(addPeriods(period, 1), (months) => (months === 1 ? whole : null), {
    ...settings.of(tenantId(tenant.tenantKey)),
    baseline: 'previous',
  });
}
