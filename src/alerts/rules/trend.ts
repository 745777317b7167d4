import { addPeriods } from '../../core/period.ts';
import { ceilProduct } from '../measures/fraction.ts';
import { clear, holds, type Judgement, type PeriodPhase, UNDECIDED } from '../measures/judgement.ts';
import { buildThreshold, floorCredits, scale } from '../measures/threshold.ts';
import { baselineMonths, baselineWords, heads } from '../wording/facts-told.ts';
import { grouped } from '../wording/names.ts';
import type { PeriodLook } from './judging/candidates.ts';
import { historyOf, isPastFirst, type Judging, type TenantFacts } from './judging/judging.ts';
import type { Said, UsageRule } from './rule.ts';

/** What a month is compared with lies so many before. */
const TREND_MONTHS = 3;

/** A tenant has grown month by month, and none of it was a jump. */
export const trend: UsageRule = {
  ...{ kind: 'usage', version: 1, title: 'growth', severity: 'warning' },
  ...{ growth: 'is over', ofSettled: true, canWait: true, monthsBack: TREND_MONTHS },
  docs: {
    tells: 'growth over three months, month by month, without a jump',
    holds: {
      '': 'a settled period is three quarters above that of three months before, each month a tenth above the last, without a jump',
    },
  },
  words: {
    found(facts) {
      const [who, month, used] = heads(facts);
      const since = `from ${grouped(facts.credits?.previous ?? 0n)} in ${baselineMonths(facts)}`;
      return [`${who} grew month by month, without a jump: ${used} credits in ${month}, ${since}.`];
    },
    over(facts) {
      const [who, month, used] = heads(facts);
      return `${who} did not grow month by month up to ${month} after all: ${used} credits; ${baselineWords(facts)}.`;
    },
    manyFound: (month) => `grew month by month up to ${month}`,
    manyOver: (month) => `did not grow month by month up to ${month} after all`,
    cost: 'The increase costs',
  },
  inPeriod: (judging, look) => (look.settlesNow ? findTrends(judging, look) : []),
  ofTenant,
};

/** Growth over three months that counts, and the least of each of them. */
const OVER_ALL = { numerator: 7n, denominator: 4n };
const EACH_MONTH = { numerator: 11n, denominator: 10n };

export interface TrendInput {
  /** Credits of the period and of the three before it, the latest first, brought to one length when days are compared. */
  months: readonly [bigint, bigint, bigint, bigint];
  /** All of them can be compared: none is the tenant's first, and the latest has been read completely. */
  usable: boolean;
  /** One of the three steps was a jump, which has been told as one. */
  jumped: boolean;
  phase: PeriodPhase;
  /** Credits below which growth is no news. */
  floor: bigint;
}

/** Credits that a settled period must reach to be three quarters more than three months before, and worth a word. */
function trendLimit(before: bigint, floor: bigint): bigint {
  const byRatio = ceilProduct(OVER_ALL, before);
  return byRatio > before + floor ? byRatio : before + floor;
}

/** Three months in a row have each grown by a tenth, together by three quarters, and none of it was a jump. */
export function judgeTrend({ months, usable, jumped, phase, floor }: TrendInput): Judgement {
  const [current, ...before] = months;
  const start = before[2];
  if (!phase.settled || !usable || jumped || start <= 0n) return clear(true);
  const limit = trendLimit(start, floor);
  const rises = before.every((earlier, index) => (months[index] ?? 0n) >= ceilProduct(EACH_MONTH, earlier));
  if (rises && current >= limit) {
    return holds({ level: 'settled', severity: 'warning', threshold: limit, measure: current });
  }
  return current * 10n >= limit * 9n ? UNDECIDED : clear(true);
}

/** Tenants of a settled period that may have grown over three months. */
function findTrends({ connection, settings }: Judging, { facts: { periodKey } }: PeriodLook): number[] {
  return connection
    .prepare(
      `SELECT cur.tenant_key FROM tenant_usage cur
       JOIN tenant_usage prev ON prev.period_key = @periodKey - 1 AND prev.tenant_key = cur.tenant_key
       JOIN tenant_usage first ON first.period_key = @periodKey - 3 AND first.tenant_key = cur.tenant_key
       WHERE cur.period_key = @periodKey AND first.credits_used > 0 AND cur.credits_used > prev.credits_used * 0.9
         AND cur.credits_used >= 1.5 * first.credits_used AND cur.credits_used >= first.credits_used * 0.9 + @floor`,
    )
    .pluck()
    .all({ periodKey, floor: settings.leastFloor }) as number[];
}

function ofTenant(judging: Judging, tenant: TenantFacts): Said {
  const { factsOf, settings, tenantId } = judging;
  const { period, phase, previousComplete } = factsOf(tenant.periodKey);
  const own = settings.of(tenantId(tenant.tenantKey));
  const history = historyOf(judging, tenant);
  const creditsOf = (before: number) => (before === 0 ? (tenant.current?.credits ?? 0n) : (history(before) ?? 0n));
  const month = (before: number) => scale(creditsOf(before), period, addPeriods(period, -before), own.perDay);
  const months = [month(0), month(1), month(2), month(TREND_MONTHS)] as const;
  const floor = floorCredits(own);
  const jumped = [0, 1, 2].some((ago) => {
    const built = buildThreshold(addPeriods(period, -ago), (before) => history(before + ago), own);
    const credits = creditsOf(ago);
    return built !== null && credits >= built.credits && credits > built.baseline;
  });
  const usable = !tenant.withdrawn && previousComplete && isPastFirst(judging, tenant, TREND_MONTHS);
  const start = judging.read(tenant.periodKey - TREND_MONTHS, tenant.tenantKey).current;
  return {
    judgement: judgeTrend({ months, usable, jumped, phase, floor }),
    previous: start === null ? null : { credits: start.credits, requests: start.requests },
    threshold: months[3] > 0n ? trendLimit(months[3], floor) : null,
  };
}
