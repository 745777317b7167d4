import type { AlertRuleSettings } from '../../../config/types.ts';
import { minorDigits } from '../../../core/money.ts';
import { addPeriods } from '../../../core/period.ts';
import { buildThreshold, type Threshold } from '../../figures/threshold.ts';
import { NO_USAGE } from '../../figures/usage-figures.ts';
import { firstWeeks } from '../../forecast/first-weeks.ts';
import { paceIsTelling } from '../../forecast/pace.ts';
import { asWarning, type Judgement, UNDECIDED } from '../judgement.ts';
import { type Conditions, type PeriodLook, SLACK } from '../judging/candidates.ts';
import { comparedOf } from '../judging/compared.ts';
import { afterFirst } from '../judging/first-month.ts';
import { habitualMonth, isIntermittentTenant } from '../judging/habits.ts';
import { historyOf, isPastFirst, type Judging, type TenantFacts } from '../judging/judging.ts';
import { byMateriality } from '../judging/materiality.ts';
import type { Detection, Known, Said } from '../rule.ts';
import { judgeJump } from './judge-jump.ts';

export const jumpDetection: Detection = { candidates, ofTenant };

const DAY_MS = 86_400_000;
/** A jump's rate of recent days is more than this part of the month before. */
const RECENT_DAYS = 4;
const SURGE_PART = 1.3 / 8;

function candidates({ settings, curves }: Judging, { facts }: PeriodLook): Conditions {
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
  const tells = settings.paceFractions.some((fraction) => paceIsTelling(phase, fraction));
  // The entries at which the recent days begin.
  const recent = tells ? curves.between(periodKey, RECENT_DAYS) : null;
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

function ofTenant(judging: Judging, tenant: TenantFacts, known: Known | null): Said {
  const { factsOf, settings, tenantId } = judging;
  const { periodKey, tenantKey, previous } = tenant;
  const { period, phase, previousComplete } = factsOf(periodKey);
  const own = settings.of(tenantId(tenantKey));
  const current = (tenant.current ?? NO_USAGE).credits;
  const firing = known?.firing ?? null;
  const outlook = () => judging.outlook(periodKey, tenantKey);
  const heads = (limit: bigint) => () => (known !== null || mayHead(judging, tenant, limit) ? outlook() : null);
  const judge = (built: Threshold | null, foretells: boolean, compared = previous): Judgement =>
    judgeJump({
      current,
      phase,
      firing,
      paceMinFraction: own.paceMinFraction,
      previous: { figures: compared, usable: previousComplete },
      threshold: built,
      outlook: foretells && built !== null ? heads(built.credits) : null,
    });
  let built = buildThreshold(period, historyOf(judging, tenant), own);
  let judgement = judge(built, true);
  const isUnsure = judgement.verdict === 'holds' || known !== null;
  const habitual = isUnsure || (previous?.credits ?? 0n) <= 0n ? habitualThreshold(judging, tenant, own) : null;
  if (habitual !== null) {
    built = habitual;
    judgement = judge(built, true, { credits: built.baseline, requests: 0n });
  }
  // Earlier periods are read last: that is slow, and the rule seldom needs them.
  let detail: string | null = null;
  if (habitual === null && judgement.verdict === 'holds' && !isPastFirst(judging, tenant, 1)) {
    built = afterFirst(judging, tenant, 1);
    const early = built === null ? afterFirstWeeks(judging, tenant) : null;
    if (early !== null) ({ built, detail } = early);
    judgement = early === null || early.rises ? judge(built, false) : UNDECIDED;
    if (early !== null) judgement = phase.over ? UNDECIDED : asWarning(judgement);
  }
  if (judgement.verdict === 'holds' && judgement.finding.level === 'likely' && isSmallMoney(judging, tenant, built)) {
    judgement = UNDECIDED;
  }
  const isForetold = !phase.over && (judgement.verdict === 'holds' || firing !== null);
  const forecast = isForetold ? outlook() : null;
  if (built !== null && detail === null) {
    judgement = byMateriality(judging, judgement, {
      periodKey,
      tenantKey,
      current,
      baseline: built.baseline,
      outlook: forecast,
    });
  }
  const compared = comparedOf(judging, tenant, built);
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
function habitualThreshold(judging: Judging, tenant: TenantFacts, own: AlertRuleSettings): Threshold | null {
  const returns = (tenant.previous?.credits ?? 0n) <= 0n;
  const isByHabit =
    returns ||
    (own.baseline === 'previous' && isPastFirst(judging, tenant, 1) && isIntermittentTenant(judging, tenant));
  const month = isByHabit ? habitualMonth(judging, tenant) : null;
  if (month === null) return null;
  const { period } = judging.factsOf(tenant.periodKey);
  const built = buildThreshold(period, (months) => (months === 1 ? month.credits : null), {
    ...own,
    baseline: 'previous',
  });
  return built === null ? null : { ...built, period: addPeriods(period, -month.monthsBefore) };
}

/** Reports whether a month may start to wait: it is ahead of a straight line to its limit, or its latest days stand out. */
function mayHead({ factsOf, curves, nowMs }: Judging, tenant: TenantFacts, limit: bigint): boolean {
  const { periodKey, tenantKey, previous } = tenant;
  const { phase } = factsOf(periodKey);
  const current = (tenant.current ?? NO_USAGE).credits;
  if (current * BigInt(phase.lengthMs) >= limit * BigInt(phase.elapsedMs)) return true;
  const before = curves.reading(periodKey, tenantKey, nowMs - RECENT_DAYS * DAY_MS);
  return before !== null && Number(current - before) >= SURGE_PART * Number(previous?.credits ?? 0n);
}

/** Reports whether the forecast increase costs less than the configured minimum; false without a rate card. */
function isSmallMoney(judging: Judging, { periodKey, tenantKey }: TenantFacts, built: Threshold | null): boolean {
  const { factsOf, settings, tenantId, priceOf } = judging;
  const tenant = tenantId(tenantKey);
  const { minAmount } = settings.of(tenant);
  const outlook = judging.outlook(periodKey, tenantKey);
  if (minAmount === 0 || priceOf === null || built === null || outlook === null) return false;
  const { period } = factsOf(periodKey);
  const [comes, was] = [outlook.likely, built.baseline].map((credits) => priceOf(tenant, period, credits));
  if (comes == null || was == null) return false;
  return Number(comes.amountMinor - was.amountMinor) < minAmount * 10 ** minorDigits(comes.currency);
}

/** The threshold of a tenant that the very first run saw: from the first weeks of readings, with its derivation. */
function afterFirstWeeks(
  { curves, factsOf, settings, tenantId, nowMs }: Judging,
  { periodKey, tenantKey }: TenantFacts,
): { built: Threshold; detail: string; rises: boolean } | null {
  const found = firstWeeks(curves, { periodKey, tenantKey, nowMs });
  if (found === null) return null;
  const own = { ...settings.of(tenantId(tenantKey)), baseline: 'previous' as const };
  const built = buildThreshold(factsOf(periodKey).period, (months) => (months === 1 ? found.whole : null), own);
  const detail = `judged by the first ${found.days} days that were read, of ${found.daily} credits each`;
  return built === null ? null : { built, detail, rises: found.latest >= built.credits };
}
