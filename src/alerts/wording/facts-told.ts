import { dayOf, daysOf, grouped, listed, monthName, named, shortened } from './names.ts';
import type { Facts } from './notification.ts';

/** Where it happened. */
export function placeOf({ workspace_id }: Pick<Facts, 'workspace_id'>): string {
  return workspace_id === null ? 'the ledger' : named(workspace_id);
}

/** Whom an alert is about. */
export function subjectOf({ tenant_id, tenant_name, ...facts }: Facts): string {
  if (tenant_id === null) return placeOf(facts);
  return tenant_name === null ? named(tenant_id) : `${named(tenant_id)} (${shortened(tenant_name)})`;
}

export function monthOf({ period, created_at }: Facts): string {
  return period === null ? '' : monthName(period, created_at);
}

/** The months whose credits an alert compares with: `February`, or `the median of January and February`. */
export function baselineMonths({ previous_period, evidence, created_at }: Facts): string {
  const months = evidence.threshold?.baseline_periods ?? [];
  if (months.length > 1) {
    return `the median of ${listed([...months].reverse().map((month) => monthName(month, created_at)))}`;
  }
  return previous_period === null ? 'before' : monthName(previous_period, created_at);
}

/** `February was 10,000`. */
export function baselineWords(facts: Facts): string {
  return `${baselineMonths(facts)} was ${grouped(facts.credits?.previous ?? 0n)}`;
}

/** `18,000 to 24,000`, or what alone is known. */
export function forecast({ evidence, credits }: Facts): string {
  const { low_credits: low = null, high_credits: high = null } = evidence.projection ?? {};
  if (low !== null && high !== null && low < high) return `${grouped(low)} to ${grouped(high)}`;
  return grouped(evidence.projection?.credits ?? credits?.current ?? 0n);
}

/** How far the month was that a forecast is of: ` (day 7 of 31)`. */
export function day({ evidence, period }: Facts): string {
  return evidence.projection === null || period === null
    ? ''
    : ` (${dayOf(period, Number(evidence.projection.elapsed_fraction))})`;
}

type BuiltLimit = NonNullable<Facts['evidence']['threshold']>;

/** What makes the limit of these credits: a multiple of them, or so many more; as a number, and in words. */
export function limitOf(
  { ratio, min_credits, min_increase }: BuiltLimit,
  credits: bigint,
  words: { times: (ratio: string) => string; more: (amount: string) => string },
): { limit: number; words: string } {
  // Read back from JSON whole numbers are bigints.
  const [base, times, least] = [credits, ratio, min_credits].map(Number) as [number, number, number];
  const byRatio = { limit: times * base, words: words.times(String(ratio)) };
  const byLeast = { limit: base + least, words: words.more(grouped(min_credits)) };
  const relative = byRatio.limit >= byLeast.limit ? byRatio : byLeast;
  if (min_increase === null || base + Number(min_increase) >= relative.limit) return relative;
  return { limit: base + Number(min_increase), words: words.more(grouped(min_increase)) };
}

/** How a limit came about, in brackets; nothing where that is not known. */
export function limitReason(facts: Facts): string {
  const { threshold: limit, evidence, credits } = facts;
  const built = evidence.threshold;
  if (built === null || limit === null) return '';
  const { baseline_credits, baseline_periods, per_day } = built;
  const length = facts.period === null ? 0 : daysOf(facts.period);
  const brought = per_day && baseline_credits !== credits?.previous ? ` brought to ${length} days` : '';
  const months = `${baseline_periods.length > 1 ? 'the median' : baselineMonths(facts)}${brought}`;
  const reached = limitOf(built, baseline_credits, {
    times: (ratio) => `${ratio} x ${months}`,
    more: (amount) => `${months} + ${amount}`,
  });
  return Math.abs(Math.ceil(reached.limit - 1e-6) - Number(limit)) < 1 ? ` (${reached.words})` : '';
}

/** Most sentences begin with these. */
export function heads(facts: Facts): [who: string, month: string, used: string] {
  return [subjectOf(facts), monthOf(facts), grouped(facts.credits?.current ?? 0n)];
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

/** Somebody had planned for growth, and it has grown beyond that. */
export function plan({ evidence }: Facts): string {
  const { planned_credits = null, planned_bounds = planned_credits === null ? [] : [planned_credits] } = evidence;
  return planned_bounds.length === 0 ? '' : `Planned was growth up to ${listed(planned_bounds.map(grouped))}.`;
}
