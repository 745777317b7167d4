import { usedBetween } from './past.ts';
import type { Regime } from './regime.ts';

/** A stretch of the past is beside what the days before it foretold. */
const FORETELLING_DAYS = 60;
const MOST_STRETCHES = 20;
/** Beside the own stretches there are so many of a subject whose days differ by chance alone. */
const BY_CHANCE = 10;
/** The rate is no better known than by so many days. */
const KNOWING_DAYS = 28;
/** Nothing goes on quite as it was, and less so the longer it takes: variances, of all the rest and of each of its days. */
const UNKNOWN = 0.004;
const UNKNOWN_A_DAY = 0.0005;

/** What rests were beside what was foretold of them, ascending: the subject's own ones and those of chance. */
export function factorsOf(
  days: readonly number[],
  { left, noise, regime }: { left: number; noise: number; regime: Regime },
): number[] {
  const length = Math.max(1, Math.round(left));
  // The days since a change were not foretold by those before it: the forecast knows of that change.
  const first = regime.days < days.length ? regime.days : 0;
  const room = days.length - FORETELLING_DAYS - length;
  const factors: number[] = [];
  for (let from = first; from <= room; from += Math.ceil((room + 1 - first) / MOST_STRETCHES)) {
    const foretold = (usedBetween(days, from + length, from + length + FORETELLING_DAYS) * length) / FORETELLING_DAYS;
    if (foretold > 0) factors.push(usedBetween(days, from, from + length) / foretold);
  }
  const byDays = noise ** 2 * (1 / Math.max(1, left) + 1 / Math.min(KNOWING_DAYS, Math.max(1, regime.days)));
  const variance = byDays + UNKNOWN + UNKNOWN_A_DAY * left;
  for (let place = 0; place < BY_CHANCE; place += 1) factors.push(gammaQuantile(variance, (place + 0.5) / BY_CHANCE));
  return factors.sort((a, b) => a - b);
}

/** What such a part of values lies below. */
export function quantile(ascending: readonly number[], part: number): number {
  const last = ascending.length - 1;
  const place = Math.max(0, Math.min(last, part * ascending.length - 0.5));
  const [low, high] = [ascending[Math.floor(place)] ?? 0, ascending[Math.ceil(place)] ?? 0];
  return low + (high - low) * (place - Math.floor(place));
}

/** Of a gamma distribution around 1 (Wilson and Hilferty). */
function gammaQuantile(variance: number, part: number): number {
  return Math.max(0, 1 - variance / 9 + (normalQuantile(part) * Math.sqrt(variance)) / 3) ** 3;
}

/** Of a normal distribution (Hastings), right to a two-hundredth. */
function normalQuantile(part: number): number {
  const t = Math.sqrt(-2 * Math.log(Math.min(part, 1 - part)));
  const z = t - (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t);
  return part < 0.5 ? -z : z;
}
