import { restByMonth } from './months.ts';
import type { Past } from './past.ts';
import { factorsOf, quantile } from './range.ts';
import { regimeOf } from './regime.ts';
import { weekOf, weightAhead } from './week.ts';

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
/** Less than `sure` comes in one case of four; where days differ more, in fewer. */
const SURE = 0.25;
const SURE_OF_NOISY = 0.1;
const LEAST_NOISY = 0.3;
const NOISY = 0.6;
/** Nothing is sure after fewer days, and that they differ little may be chance. */
const FEW_DAYS = 14;
const NOISE_OF_FEW = 0.5;

/**
 * What an open month comes to: what it has, and a rest that goes on as it does now. Null where not even one day was read
 * from its beginning to its end.
 */
export function forecastOf(current: bigint, past: Past): Outlook | null {
  const { days, elapsed, lengths } = past;
  if (days.length === 0) return null;
  const left = Math.max(0, lengths[0] - elapsed);
  const isFew = days.length < FEW_DAYS;
  const { weights, noise: own } = weekOf(days);
  const noise = isFew ? Math.max(own, NOISE_OF_FEW) : own;
  const week = { weights, noise };
  const regime = regimeOf(days, week);
  const rest = restByMonth(past, week, regime) ?? regime.rate * weightAhead(week, left);
  const factors = factorsOf(days, { left, noise, regime });
  const reached = (factor: number) => current + BigInt(Math.round(rest * factor));
  const likely = reached(1);
  const noisy = Math.max(0, Math.min(1, (noise - LEAST_NOISY) / (NOISY - LEAST_NOISY)));
  return {
    low: reached(Math.min(1, quantile(factors, LOW))),
    likely,
    high: reached(Math.max(1, quantile(factors, HIGH))),
    sure: isFew ? null : reached(quantile(factors, SURE + (SURE_OF_NOISY - SURE) * noisy)),
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
