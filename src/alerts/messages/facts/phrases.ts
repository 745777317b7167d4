import { periodEndMs } from '../../../core/period.ts';
import type { Facts } from './facts.ts';
import { daysOf, grouped, listed, monthName, named, shortened } from './names.ts';

export function placeOf({ workspace_id }: Pick<Facts, 'workspace_id'>): string {
  return workspace_id === null ? 'the ledger' : named(workspace_id);
}

export function subjectOf({ tenant_id, tenant_name, ...facts }: Facts): string {
  if (tenant_id === null) return placeOf(facts);
  return tenant_name === null ? named(tenant_id) : `${named(tenant_id)} (${shortened(tenant_name)})`;
}

export function monthOf({ period, created_at }: Facts): string {
  return period === null ? '' : monthName(period, created_at);
}

/** Reports whether the month was open when its figures were read. */
export function isOpenMonth({ period, read_at, created_at }: Facts): boolean {
  return period !== null && Date.parse(read_at ?? created_at) < periodEndMs(period);
}

/** Returns the name of the compared month: `February`. */
export function baselineMonth({ previous_period, created_at }: Facts): string {
  return previous_period === null ? 'before' : monthName(previous_period, created_at);
}

/** `February was 10,000`. */
export function baselineWords(facts: Facts): string {
  return `${baselineMonth(facts)} was ${grouped(facts.credits?.previous ?? 0n)}`;
}

/** Formats a forecast as `18,000 to 24,000`, or its only figure. */
export function forecast({ evidence, credits }: Facts): string {
  const { projection } = evidence;
  if (projection === null) return grouped(credits?.current ?? 0n);
  const { credits: likely, low_credits: low, high_credits: high } = projection;
  return low !== null && high !== null && low < high ? `${grouped(low)} to ${grouped(high)}` : grouped(likely);
}

/** Returns the credits that represent the month: the forecast of a likely alert, otherwise the used credits. */
export function monthCredits({ level, evidence, credits }: Facts): bigint {
  const forecastCredits = level === 'likely' ? evidence.projection?.credits : undefined;
  return BigInt(forecastCredits ?? credits?.current ?? 0n);
}

/** How far the month was that a forecast is of: ` (day 7 of 31)`. */
export function day({ evidence, period, read_at, created_at }: Facts): string {
  if (evidence.projection === null || period === null) return '';
  return ` (day ${Number((read_at ?? created_at).slice(8, 10))} of ${daysOf(period)})`;
}

type BuiltLimit = NonNullable<Facts['evidence']['threshold']>;

/** Returns the limit as a number and in words: a multiple of the baseline, or the baseline plus credits. */
export function limitOf(
  { ratio, min_credits }: BuiltLimit,
  credits: bigint,
  words: { times: (ratio: string) => string; more: (amount: string) => string },
): { limit: number; words: string } {
  // Read back from JSON whole numbers are bigints.
  const [base, times, least] = [credits, ratio, min_credits].map(Number) as [number, number, number];
  if (times * base >= base + least) return { limit: times * base, words: words.times(String(ratio)) };
  return { limit: base + least, words: words.more(grouped(min_credits)) };
}

/** How a limit came about, in brackets; nothing where that is not known. */
export function limitReason(facts: Facts): string {
  const { threshold: limit, evidence } = facts;
  const built = evidence.threshold;
  if (built === null || limit === null) return '';
  const month = baselineMonth(facts);
  // A first month counts as if it had been used from its beginning.
  const isWhole = built.baseline_credits !== (facts.credits?.previous ?? 0n);
  const base = isWhole ? grouped(built.baseline_credits) : month;
  const reached = limitOf(built, built.baseline_credits, {
    times: (ratio) => `${ratio} x ${base}${isWhole ? `, ${month} as a whole month` : ''}`,
    more: (amount) => `${base} + ${amount}${isWhole ? `, ${month} as a whole month` : ''}`,
  });
  return Math.abs(Math.ceil(reached.limit - 1e-6) - Number(limit)) < 1 ? ` (${reached.words})` : '';
}

export function heads(facts: Facts): { who: string; month: string; used: string; previous: bigint; current: bigint } {
  const { previous = 0n, current = 0n } = facts.credits ?? {};
  return { who: subjectOf(facts), month: monthOf(facts), used: grouped(current), previous, current };
}

/** The day of an open month that its forecast is of. */
export function forecastWords(facts: Facts): string {
  return facts.evidence.projection === null ? '' : `, forecast ${forecast(facts)}${day(facts)}`;
}

export function settled(facts: Facts): string {
  return facts.level === 'settled' ? `${monthOf(facts)} has settled.` : '';
}

/** An open month only grows. */
export function goesOn(facts: Facts): string {
  const { projection } = facts.evidence;
  if (projection === null || projection.credits <= (facts.credits?.current ?? 0n)) return '';
  return `Forecast for ${monthOf(facts)}: ${forecast(facts)}${day(facts)}.`;
}

/** Returns the limits of the plans that the growth has passed. */
export function plan({ evidence }: Facts): string {
  const { planned_bounds } = evidence;
  return planned_bounds.length === 0 ? '' : `Planned was growth up to ${listed(planned_bounds.map(grouped))}.`;
}
