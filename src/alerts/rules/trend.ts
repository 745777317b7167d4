import { ceilProduct } from './measures/fraction.ts';
import { clear, holds, type Judgement, type PeriodPhase, UNDECIDED } from './rule.ts';

/** What a month is compared with lies so many before. */
export const TREND_MONTHS = 3;

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
export function trendLimit(before: bigint, floor: bigint): bigint {
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
