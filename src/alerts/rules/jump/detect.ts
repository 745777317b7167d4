import type { AlertRuleSettings } from '../../../config/types.ts';
import { DAY_MS } from '../../../core/durations.ts';
import { minorDigits } from '../../../core/money.ts';
import { addPeriods } from '../../../core/period.ts';
import { findJumpThreshold, type Threshold } from '../../figures/threshold.ts';
import { NO_USAGE } from '../../figures/usage-figures.ts';
import { firstWeeks } from '../../forecast/first-weeks.ts';
import { canJudgePace } from '../../forecast/pace.ts';
import { type Conditions, type PeriodLook, SLACK } from '../context/candidates.ts';
import { comparedOf } from '../context/compared.ts';
import { afterFirst } from '../context/first-month.ts';
import { habitualMonth, isIntermittentTenant } from '../context/habits.ts';
import { byMateriality, moneyOfIncrease } from '../context/materiality.ts';
import { historyOf, isPastFirst, type RuleContext, type TenantFacts } from '../context/rule-context.ts';
import { asWarning, type Judgement, UNDECIDED } from '../judgement.ts';
import type { Detection, OpenAlert, RuleResult } from '../rule.ts';
import { judgeJump } from './judge-jump.ts';

export const jumpDetection: Detection = { candidates: jumpCandidates, ofTenant: judgeJumpOfTenant };

/** A tenant grows fast if its last four days used at least 1.3 times an eighth (four days of 32) of the previous month. */
const FAST_GROWTH_DAYS = 4;
const FAST_GROWTH_SHARE = 1.3 / 8;

function jumpCandidates({ settings, usageHistory }: RuleContext, { facts }: PeriodLook): Conditions {
  const { phase, periodKey } = facts;
  const jumped = settings.plain
    ? `cur.credits_used >= @elapsed * @ratio * prev.credits_used
         AND cur.credits_used >= @elapsed * (prev.credits_used + @floor)`
    : 'cur.credits_used >= @elapsed * @floor';
  const values = {
    elapsed: (phase.over ? 1 : phase.elapsedMs / phase.lengthMs) * SLACK,
    ratio: settings.leastRatio,
    floor: settings.leastFloor,
  };
  const where = `(prev.credits_used > 0 AND (${jumped}))
    OR (coalesce(prev.credits_used, 0) <= 0 AND cur.credits_used >= @elapsed * @floor)`;
  const judgesPace = settings.paceFractions.some((fraction) => canJudgePace(phase, fraction));
  // The ids of the entries at which the last four days begin, for the SQL condition.
  const recent = judgesPace ? usageHistory.between(periodKey, FAST_GROWTH_DAYS) : null;
  if (recent === null) return { where, values };
  const hasGrown = 'prev.credits_used > 0 AND cur.credits_used >= @fastGrowth * prev.credits_used';
  const recently = `cur.credits_used - ${recentReading(recent)} >= @fastGrowth * prev.credits_used`;
  const { earlier, later, passed } = recent;
  return {
    where: `(${where}) OR (${hasGrown} AND ${recently})`,
    values: { ...values, fastGrowth: FAST_GROWTH_SHARE * SLACK, earlier, later: later ?? 0, passed },
  };
}

/**
 * SQL for a tenant's credits when the last four days began. Usage is assumed to be even between two readings, and the
 * result is rounded down.
 */
function recentReading({ later, passed }: { later: number | null; passed: number }): string {
  const readBy = (entry: string) => `coalesce((SELECT e4.credits_after FROM usage_entries e4
    WHERE e4.period_key = cur.period_key AND e4.tenant_key = cur.tenant_key AND e4.entry_id <= ${entry}
    ORDER BY e4.entry_id DESC LIMIT 1), 0)`;
  if (passed === 0) return readBy('@earlier');
  const after = later === null ? 'cur.credits_used' : readBy('@later');
  return `((1 - @passed) * ${readBy('@earlier')} + @passed * ${after} - 1)`;
}

function judgeJumpOfTenant(context: RuleContext, tenant: TenantFacts, known: OpenAlert | null): RuleResult {
  const { factsOf, settings, tenantId } = context;
  const { periodKey, tenantKey, previous } = tenant;
  const { period, phase, previousComplete } = factsOf(periodKey);
  const tenantSettings = settings.of(tenantId(tenantKey));
  const current = (tenant.current ?? NO_USAGE).credits;
  const firing = known?.firing ?? null;
  const monthForecast = () => context.monthForecast(periodKey, tenantKey);
  // Forecasts are slow, so only tenants that may reach the limit get one.
  const forecastNear = (limit: bigint) => () =>
    known !== null || mayReach(context, tenant, limit) ? monthForecast() : null;
  const judge = (built: Threshold | null, withForecast: boolean, compared = previous): Judgement =>
    judgeJump({
      current,
      phase,
      firing,
      paceMinFraction: tenantSettings.paceMinFraction,
      previous: { figures: compared, usable: previousComplete },
      threshold: built,
      monthForecast: withForecast && built !== null ? forecastNear(built.credits) : null,
    });
  let built = findJumpThreshold(period, historyOf(context, tenant), tenantSettings);
  let judgement = judge(built, true);
  const mayFire = judgement.verdict === 'holds' || known !== null;
  const habitual =
    mayFire || (previous?.credits ?? 0n) <= 0n ? habitualThreshold(context, tenant, tenantSettings) : null;
  if (habitual !== null) {
    built = habitual;
    judgement = judge(built, true, { credits: built.baseline, requests: 0n });
  }
  // Earlier periods are read last, because that is slow and seldom needed.
  let detail: string | null = null;
  const isAfterFirst = habitual === null && judgement.verdict === 'holds' && !isPastFirst(context, tenant, 1);
  if (isAfterFirst) {
    built = afterFirst(context, tenant, 1);
    const early = built === null ? afterFirstWeeks(context, tenant) : null;
    if (early !== null) ({ built, detail } = early);
    judgement = early === null || early.rises ? judge(built, false) : UNDECIDED;
    if (early !== null) judgement = phase.over ? UNDECIDED : asWarning(judgement);
  }
  if (judgement.verdict === 'holds' && judgement.finding.level === 'likely' && isSmallMoney(context, tenant, built)) {
    judgement = UNDECIDED;
  }
  const isForecast = !phase.over && (judgement.verdict === 'holds' || firing !== null);
  const forecast = isForecast ? monthForecast() : null;
  if (built !== null && detail === null) {
    judgement = byMateriality(context, judgement, {
      periodKey,
      tenantKey,
      current,
      baseline: isAfterFirst ? usedInFirst(context, tenant, built) : built.baseline,
      monthForecast: forecast,
    });
  }
  const compared = comparedOf(context, tenant, built);
  return {
    judgement,
    built,
    detail,
    previous: compared,
    forecast,
    threshold: built?.credits ?? null,
  };
}

/**
 * Returns the credits from which an increase over a first month is measured. A month extrapolated from fewer than ten
 * active days is a guess, which must not hide a material increase: in that case, the credits that the tenant used in
 * that month are returned.
 */
function usedInFirst(context: RuleContext, tenant: TenantFacts, { baseline }: Threshold): bigint {
  return isIntermittentTenant(context, tenant) ? (tenant.previous?.credits ?? 0n) : baseline;
}

/**
 * Returns the threshold of a tenant whose previous month is no baseline: the tenant was active on few days, pauses
 * habitually, or used nothing in that month. Null for other tenants, and without usage within a year.
 */
function habitualThreshold(
  context: RuleContext,
  tenant: TenantFacts,
  tenantSettings: AlertRuleSettings,
): Threshold | null {
  const returns = (tenant.previous?.credits ?? 0n) <= 0n;
  const isByHabit =
    returns ||
    (tenantSettings.baseline === 'previous' &&
      isPastFirst(context, tenant, 1) &&
      isIntermittentTenant(context, tenant));
  const month = isByHabit ? habitualMonth(context, tenant) : null;
  if (month === null) return null;
  const { period } = context.factsOf(tenant.periodKey);
  const built = findJumpThreshold(period, (months) => (months === 1 ? month.credits : null), {
    ...tenantSettings,
    baseline: 'previous',
  });
  return built === null ? null : { ...built, period: addPeriods(period, -month.monthsBefore) };
}

/**
 * Reports whether a tenant is worth a forecast: it is ahead of a straight line to its limit, or it grew fast in the
 * last four days.
 */
function mayReach({ factsOf, usageHistory, nowMs }: RuleContext, tenant: TenantFacts, limit: bigint): boolean {
  const { periodKey, tenantKey, previous } = tenant;
  const { phase } = factsOf(periodKey);
  const current = (tenant.current ?? NO_USAGE).credits;
  if (current * BigInt(phase.lengthMs) >= limit * BigInt(phase.elapsedMs)) return true;
  const before = usageHistory.reading(periodKey, tenantKey, nowMs - FAST_GROWTH_DAYS * DAY_MS);
  return before !== null && Number(current - before) >= FAST_GROWTH_SHARE * Number(previous?.credits ?? 0n);
}

/** Reports whether the forecast increase costs less than the configured minimum; false without a rate card. */
function isSmallMoney(context: RuleContext, tenant: TenantFacts, built: Threshold | null): boolean {
  const { minAmount } = context.settings.of(context.tenantId(tenant.tenantKey));
  if (minAmount === 0 || built === null) return false;
  const monthForecast = context.monthForecast(tenant.periodKey, tenant.tenantKey);
  const money =
    monthForecast === null ? null : moneyOfIncrease(context, tenant, [built.baseline, monthForecast.likely]);
  return money !== null && money.amountMinor < minAmount * 10 ** minorDigits(money.currency);
}

/**
 * Returns the threshold of a tenant that the workspace's first run already saw, computed from its first weeks of
 * readings. `detail` explains the threshold. `rises` is true if a whole month like the latest days would reach it.
 */
function afterFirstWeeks(
  { usageHistory, factsOf, settings, tenantId, nowMs }: RuleContext,
  { periodKey, tenantKey }: TenantFacts,
): { built: Threshold; detail: string; rises: boolean } | null {
  const found = firstWeeks(usageHistory, { periodKey, tenantKey, nowMs });
  if (found === null) return null;
  const tenantSettings = { ...settings.of(tenantId(tenantKey)), baseline: 'previous' as const };
  const built = findJumpThreshold(
    factsOf(periodKey).period,
    (months) => (months === 1 ? found.whole : null),
    tenantSettings,
  );
  const detail = `the first ${found.days} days of readings, with ${found.daily} credits a day`;
  return built === null ? null : { built, detail, rises: found.latest >= built.credits };
}
