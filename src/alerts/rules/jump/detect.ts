import type { AlertRuleSettings } from '../../../config/types.ts';
import { DAY_MS } from '../../../core/durations.ts';
import { minorDigits } from '../../../core/money.ts';
import { addPeriods } from '../../../core/period.ts';
import { buildThreshold, type Threshold } from '../../figures/threshold.ts';
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

/** A jump's rate of recent days is more than this part of the month before. */
const RECENT_DAYS = 4;
const SURGE_PART = 1.3 / 8;

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
  // The entries at which the recent days begin.
  const recent = judgesPace ? usageHistory.between(periodKey, RECENT_DAYS) : null;
  if (recent === null) return { where, values };
  const surged = 'prev.credits_used > 0 AND cur.credits_used >= @surge * prev.credits_used';
  const recently = `cur.credits_used - ${recentReading(recent)} >= @surge * prev.credits_used`;
  const { earlier, later, passed } = recent;
  return {
    where: `(${where}) OR (${surged} AND ${recently})`,
    values: { ...values, surge: SURGE_PART * SLACK, earlier, later: later ?? 0, passed },
  };
}

/** Credits when the latest days began. Between readings that lie far apart use counts as even, rounded down. */
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
  const own = settings.of(tenantId(tenantKey));
  const current = (tenant.current ?? NO_USAGE).credits;
  const firing = known?.firing ?? null;
  const monthForecast = () => context.monthForecast(periodKey, tenantKey);
  const heads = (limit: bigint) => () => (known !== null || mayHead(context, tenant, limit) ? monthForecast() : null);
  const judge = (built: Threshold | null, foretells: boolean, compared = previous): Judgement =>
    judgeJump({
      current,
      phase,
      firing,
      paceMinFraction: own.paceMinFraction,
      previous: { figures: compared, usable: previousComplete },
      threshold: built,
      monthForecast: foretells && built !== null ? heads(built.credits) : null,
    });
  let built = buildThreshold(period, historyOf(context, tenant), own);
  let judgement = judge(built, true);
  const isUnsure = judgement.verdict === 'holds' || known !== null;
  const habitual = isUnsure || (previous?.credits ?? 0n) <= 0n ? habitualThreshold(context, tenant, own) : null;
  if (habitual !== null) {
    built = habitual;
    judgement = judge(built, true, { credits: built.baseline, requests: 0n });
  }
  // Earlier periods are read last: that is slow, and the rule seldom needs them.
  let detail: string | null = null;
  if (habitual === null && judgement.verdict === 'holds' && !isPastFirst(context, tenant, 1)) {
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
      baseline: built.baseline,
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
 * Returns the threshold of a tenant with an unusual previous month: one active on few days, with habitual pauses, or
 * without usage in that month. Null for other tenants, and without usage within a year.
 */
function habitualThreshold(context: RuleContext, tenant: TenantFacts, own: AlertRuleSettings): Threshold | null {
  const returns = (tenant.previous?.credits ?? 0n) <= 0n;
  const isByHabit =
    returns ||
    (own.baseline === 'previous' && isPastFirst(context, tenant, 1) && isIntermittentTenant(context, tenant));
  const month = isByHabit ? habitualMonth(context, tenant) : null;
  if (month === null) return null;
  const { period } = context.factsOf(tenant.periodKey);
  const built = buildThreshold(period, (months) => (months === 1 ? month.credits : null), {
    ...own,
    baseline: 'previous',
  });
  return built === null ? null : { ...built, period: addPeriods(period, -month.monthsBefore) };
}

/** Reports whether a month may start to wait: it is ahead of a straight line to its limit, or its latest days stand out. */
function mayHead({ factsOf, usageHistory, nowMs }: RuleContext, tenant: TenantFacts, limit: bigint): boolean {
  const { periodKey, tenantKey, previous } = tenant;
  const { phase } = factsOf(periodKey);
  const current = (tenant.current ?? NO_USAGE).credits;
  if (current * BigInt(phase.lengthMs) >= limit * BigInt(phase.elapsedMs)) return true;
  const before = usageHistory.reading(periodKey, tenantKey, nowMs - RECENT_DAYS * DAY_MS);
  return before !== null && Number(current - before) >= SURGE_PART * Number(previous?.credits ?? 0n);
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

/** The threshold of a tenant that the very first run saw: from the first weeks of readings, with its derivation. */
function afterFirstWeeks(
  { usageHistory, factsOf, settings, tenantId, nowMs }: RuleContext,
  { periodKey, tenantKey }: TenantFacts,
): { built: Threshold; detail: string; rises: boolean } | null {
  const found = firstWeeks(usageHistory, { periodKey, tenantKey, nowMs });
  if (found === null) return null;
  const own = { ...settings.of(tenantId(tenantKey)), baseline: 'previous' as const };
  const built = buildThreshold(factsOf(periodKey).period, (months) => (months === 1 ? found.whole : null), own);
  const detail = `the first ${found.days} days that were read, ${found.daily} credits each`;
  return built === null ? null : { built, detail, rises: found.latest >= built.credits };
}
