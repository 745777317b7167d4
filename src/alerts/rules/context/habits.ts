import { DAY_MS } from '../../../core/durations.ts';
import { periodEndMs, periodStartMs } from '../../../core/period.ts';
import { preparedSql } from '../../../ledger/store/schema/drizzle.ts';
import { periodOfKey } from '../../../ledger/store/schema/keys.ts';
import { countPauses, pausesByHabit } from '../../forecast/intermittent.ts';
import { activeDaysIn, MIN_ACTIVE_DAYS } from '../../forecast/past-days.ts';
import type { RuleContext, TenantFacts } from './rule-context.ts';

/**
 * A jump of an intermittent tenant is compared with the highest of its last JUMP_MONTHS months with usage, of at most
 * MAX_MONTHS_BACK months ago.
 */
const JUMP_MONTHS = 3;
const MAX_MONTHS_BACK = 12;
/** A drop is compared with the lowest of this many months, since a month without usage may be a habit. */
const DROP_MONTHS = 6;

/**
 * Reports whether a tenant's months say little about each other: it was active on fewer than ten days of the previous
 * month, or paused twice for two weeks or more.
 */
export function isIntermittentTenant(context: RuleContext, { periodKey, tenantKey }: TenantFacts): boolean {
  const days = context.usageHistory.daysBeforeMonth(periodKey, tenantKey);
  const before = periodOfKey(periodKey - 1);
  const length = (periodEndMs(before) - periodStartMs(before)) / DAY_MS;
  if (days.length < length) return false;
  return activeDaysIn(days, 0, length) < MIN_ACTIVE_DAYS || pausesByHabit(days);
}

/** Reports whether a tenant has paused for two weeks or more before, so that its silence may be another pause. */
export function hasPaused({ usageHistory }: RuleContext, { periodKey, tenantKey }: TenantFacts): boolean {
  return countPauses(usageHistory.daysBeforeMonth(periodKey, tenantKey)) > 0;
}

const highestOfLastMonths = preparedSql(
  `SELECT period_key, credits_used FROM (
     SELECT period_key, credits_used FROM tenant_usage
     WHERE tenant_key = ? AND period_key BETWEEN ? AND ? AND withdrawn = 0 AND credits_used > 0
     ORDER BY period_key DESC LIMIT ${JUMP_MONTHS})
   ORDER BY credits_used DESC, period_key DESC LIMIT 1`,
  'raw',
  'safeIntegers',
);

/** Returns the month that an intermittent tenant is compared with: the highest of its last three with usage within a year. */
export function habitualMonth(
  { connection }: RuleContext,
  { periodKey, tenantKey }: TenantFacts,
): { monthsBefore: number; credits: bigint } | null {
  const highest = highestOfLastMonths(connection).get(tenantKey, periodKey - MAX_MONTHS_BACK, periodKey - 1);
  if (highest === undefined) return null;
  const [month, credits] = highest as [bigint, bigint];
  return { monthsBefore: periodKey - Number(month), credits };
}

/**
 * Returns the month with the least usage of the last six. Months without usage are included. The tenant's first month,
 * which may be partial, and earlier months are not.
 */
export function lowestMonth(
  context: RuleContext,
  { periodKey, tenantKey }: TenantFacts,
): { monthsBefore: number; credits: bigint } {
  const first = context.usageHistory.firstPeriodKey(tenantKey) ?? periodKey;
  const count = Math.max(1, Math.min(DROP_MONTHS, periodKey - 1 - first));
  const months = Array.from({ length: count }, (_, place) => {
    const monthsBefore = place + 1;
    return { monthsBefore, credits: context.read(periodKey - monthsBefore, tenantKey).current?.credits ?? 0n };
  });
  return months.reduce((lowest, month) => (month.credits < lowest.credits ? month : lowest));
}

/** Returns whether a tenant has used credits in the twelve months before a period. */
export function hasUsedWithinYear(context: RuleContext, tenant: TenantFacts): boolean {
  return habitualMonth(context, tenant) !== null;
}
