import { DAY_MS } from '../../../core/durations.ts';
import { oncePerKey } from '../../../core/one-at-a-time.ts';
import { periodAt, periodEndMs, periodStartMs } from '../../../core/period.ts';
import { preparedSql } from '../../../ledger/store/schema/drizzle.ts';
import { periodKeyOf, periodOfKey, workspaceKeyOf } from '../../../ledger/store/schema/keys.ts';
import { activeDaysIn, pausesByHabit } from '../../forecast/intermittent.ts';
import { HABIT_DAYS } from '../../forecast/tenant-sample.ts';
import { perRun, type RuleContext, type TenantFacts } from './rule-context.ts';

/** A tenant with usage on fewer days of the previous month is compared with more than that month. */
const MIN_ACTIVE_DAYS = 10;
/** Months with usage that such a tenant is compared with, and how far back they may lie. */
const COMPARED_MONTHS = 3;
const MAX_MONTHS_BACK = 12;

/** Daily credits of tenants over more than a year, latest first. */
const longHistory = perRun(({ usageHistory, merged }: RuleContext) => {
  const open = periodKeyOf(merged.run.workspaceKey, periodAt(merged.nowMs));
  return { of: oncePerKey((tenantKey: number) => usageHistory.dailyCredits(open, tenantKey, HABIT_DAYS)) };
});

/**
 * Reports whether a tenant's months say little about each other: it was active on fewer than ten days of the previous
 * month, or paused twice for two weeks or more.
 */
export function isIntermittentTenant(context: RuleContext, { periodKey, tenantKey }: TenantFacts): boolean {
  const days = longHistory(context).of(tenantKey);
  const before = periodOfKey(periodKey - 1);
  const [from, to] = [periodEndMs(before), periodStartMs(before)].map((ms) => (context.nowMs - ms) / DAY_MS);
  if (from === undefined || to === undefined || days.length < to) return false;
  return activeDaysIn(days, from, to) < MIN_ACTIVE_DAYS || pausesByHabit(days);
}

const lastMonthsWithUsage = preparedSql(
  `SELECT period_key, credits_used FROM tenant_usage
   WHERE tenant_key = ? AND period_key BETWEEN ? AND ? AND withdrawn = 0 AND credits_used > 0
   ORDER BY period_key DESC LIMIT ${COMPARED_MONTHS}`,
  'raw',
  'safeIntegers',
);

/** Returns the month that an intermittent tenant is compared with: the highest of its last three with usage within a year. */
export function habitualMonth(
  { connection }: RuleContext,
  { periodKey, tenantKey }: TenantFacts,
): { monthsBefore: number; credits: bigint } | null {
  const oldest = Math.max(periodKey - MAX_MONTHS_BACK, periodKeyOf(workspaceKeyOf(periodKey), '0001-01'));
  const months = lastMonthsWithUsage(connection).all(tenantKey, oldest, periodKey - 1) as [bigint, bigint][];
  const highest = months.reduce<[bigint, bigint] | null>(
    (best, month) => (best === null || month[1] > best[1] ? month : best),
    null,
  );
  return highest === null ? null : { monthsBefore: periodKey - Number(highest[0]), credits: highest[1] };
}

/** Returns whether a tenant has used credits in the twelve months before a period. */
export function hasUsedWithinYear(context: RuleContext, tenant: TenantFacts): boolean {
  return habitualMonth(context, tenant) !== null;
}
