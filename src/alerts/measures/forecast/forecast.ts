import { restByMonth } from './months.ts';
import type { Past } from './past.ts';
import { factorsOf, quantile } from './range.ts';
import { regimeOf } from './regime.ts';
import { BURSTY, weekOf, weightAhead } from './week.ts';

/** Credits that an open month comes to. In eight cases of ten it lies from `low` to `high`. */
export interface Forecast {
  low: bigint;
  likely: bigint;
  high: bigint;
}

/** A forecast with what is reached as good as certainly; null where there are too few days for that. */
export interface Outlook extends Forecast {
  sure: bigint | null;
}

const LOW = 0.1;
const HIGH = 0.9;
/** Less than `sure` comes in one case of four. */
const SURE = 0.25;
/** Nothing is sure after fewer days, and that they differ little may be chance. */
const FEW_DAYS = 14;
const NOISE_OF_FEW = 0.5;
/** Of what bursts have brought early such a part does not come again. */
const NOT_AGAIN = 0.5;

/**
 * What an open month comes to: what it has, and a rest that goes on as it does now. Null where not even one day was read
 * from its beginning to its end.
 */
export function forecastOf(current: bigint, past: Past): Outlook | null {
  const { days, elapsed, lengths } = past;
  if (days.length === 0) return null;
  const left = Math.max(0, lengths[0] - elapsed);
  const isFew = days.length < FEW_DAYS;
  const { weights, dayNoise, noise: own } = weekOf(days);
  const least = isFew ? NOISE_OF_FEW : 0;
  const noise = Math.max(own, least);
  const week = { weights, dayNoise: Math.max(dayNoise, least), noise };
  const regime = regimeOf(days, week);
  const byMonth = restByMonth(past, week, regime);
  const ahead = weightAhead(week, left);
  const rest = byMonth ?? regime.rate * ahead;
  const back = regime.rate === 0 ? regime.back * ahead : (rest * regime.back) / regime.rate;
  const factors = factorsOf(days, { left, noise, regime });
  const inBursts = noise >= BURSTY && byMonth === null && regime.days === days.length;
  const early = inBursts ? Math.max(0, Number(current) - regime.rate * elapsed) : 0;
  const reached = (more: number, factor: number) =>
    current + BigInt(Math.round(Math.max(0, more * factor - early * NOT_AGAIN)));
  return {
    low: reached(Math.min(rest, back), Math.min(1, quantile(factors, LOW))),
    likely: reached(rest, 1),
    high: reached(Math.max(rest, back), Math.max(1, quantile(factors, HIGH))),
    sure: isFew ? null : reached(rest, quantile(factors, SURE)),
  };
}

/** Where an open month heads. `wavering` is so near to its limit that who waits goes on waiting; `near` from nine tenths of it on. */
export type Heading = 'ahead' | 'wavering' | 'near' | 'behind' | 'unknown';

export function headingOf(outlook: Outlook | null, limit: bigint): Heading {
  if (outlook === null || outlook.sure === null) return 'unknown';
  const { sure, likely } = outlook;
  if (sure >= limit) return 'ahead';
  if (sure * 10n >= limit * 9n) return 'wavering';
  return likely * 10n >= limit * 9n ? 'near' : 'behind';
}
