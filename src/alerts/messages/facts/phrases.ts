import { DAY_MS } from '../../../core/durations.ts';
import { addPeriods, periodEndMs, periodStartMs } from '../../../core/period.ts';
import { splitCreditChange } from '../../figures/change-split.ts';
import type { Facts } from './facts.ts';
import { dateName, grouped, listed, monthName, named, roundedForecast, shortened } from './names.ts';

export function placeOf({ workspace_id }: Pick<Facts, 'workspace_id'>): string {
  return workspace_id === null ? 'the ledger' : named(workspace_id);
}

type Subject = Pick<Facts, 'workspace_id' | 'tenant_id' | 'tenant_name'>;

export function subjectOf({ tenant_id, tenant_name, ...facts }: Subject): string {
  if (tenant_id === null) return placeOf(facts);
  return tenant_name === null ? named(tenant_id) : `${named(tenant_id)} (${shortened(tenant_name)})`;
}

/** Names the subject of a title, with its workspace: `acme (prod)`, `acme (Acme Ltd, prod)`. */
export function titleSubject(facts: Subject): string {
  const { tenant_id, tenant_name } = facts;
  if (tenant_id === null) return placeOf(facts);
  const name = tenant_name === null ? '' : `${shortened(tenant_name)}, `;
  return `${named(tenant_id)} (${name}${placeOf(facts)})`;
}

/** Returns the summary without the workspace, for a page that shows one workspace. */
export function localSummary({ summary, ...subject }: Subject & { summary: string }): string {
  const title = titleSubject(subject);
  return summary.startsWith(title) ? `${subjectOf(subject)}${summary.slice(title.length)}` : summary;
}

export function monthOf({ period, created_at }: Facts): string {
  return period === null ? '' : monthName(period, created_at);
}

/** Reports whether the month was still open when its figures were read. */
export function isOpenMonth({ period, read_at, created_at }: Facts): boolean {
  return period !== null && Date.parse(read_at ?? created_at) < periodEndMs(period);
}

/** Returns the name of the compared month: `February`. */
export function baselineMonth({ previous_period, created_at }: Facts): string {
  return previous_period === null ? 'before' : monthName(previous_period, created_at);
}

/** Returns the credits of the compared month: `February: 10,000.` */
export function baselineWords(facts: Facts): string {
  return `${baselineMonth(facts)}: ${grouped(facts.credits?.previous ?? 0n)}.`;
}

/**
 * Formats a forecast as a range, such as `18,000 to 24,000`, or as one figure if it has no range. Figures are rounded
 * to three digits, unless rounding moves a figure across the limit or below the used credits.
 */
export function forecast({ evidence, credits, threshold }: Facts): string {
  const { projection } = evidence;
  const used = BigInt(credits?.current ?? 0n);
  if (projection === null) return grouped(used);
  const limit = BigInt(threshold ?? 0n);
  const words = (figure: bigint) => {
    const rounded = roundedForecast(BigInt(figure));
    return grouped(rounded < used || rounded >= limit !== figure >= limit ? figure : rounded);
  };
  const { credits: likely, low_credits: low, high_credits: high } = projection;
  const range = low !== null && high !== null ? [...new Set([words(low), words(high)])] : [];
  return range.length === 2 ? range.join(' to ') : words(likely);
}

/** Returns the forecast of the month's credits for a likely alert that has a forecast; otherwise the used credits. */
export function monthCredits({ level, evidence, credits }: Facts): bigint {
  const forecastCredits = level === 'likely' ? evidence.projection?.credits : undefined;
  return BigInt(forecastCredits ?? credits?.current ?? 0n);
}

type BuiltLimit = NonNullable<Facts['evidence']['threshold']>;

/**
 * Computes a limit as a number and in words. The limit is the larger of two figures: a multiple of the baseline, and
 * the baseline plus a minimum number of credits.
 */
export function limitOf(
  { ratio, min_credits }: BuiltLimit,
  credits: bigint,
  words: { times: (ratio: string) => string; more: (amount: string) => string },
): { limit: number; words: string } {
  // Whole numbers are bigints in figures that were read back from JSON.
  const [base, times, least] = [credits, ratio, min_credits].map(Number) as [number, number, number];
  if (times * base >= base + least) return { limit: times * base, words: words.times(String(ratio)) };
  return { limit: base + least, words: words.more(grouped(min_credits)) };
}

export function heads(facts: Facts): { who: string; month: string; used: string; previous: bigint; current: bigint } {
  const { previous = 0n, current = 0n } = facts.credits ?? {};
  return { who: subjectOf(facts), month: monthOf(facts), used: grouped(current), previous, current };
}

export function settled(facts: Facts): string {
  return facts.level === 'settled' ? `${monthOf(facts)} has settled.` : '';
}

/** Returns a sentence with the forecast; empty without a forecast, or if it is not above the used credits. */
export function forecastWords(facts: Facts): string {
  const { projection } = facts.evidence;
  if (projection === null || projection.credits <= (facts.credits?.current ?? 0n)) return '';
  return `Forecast: ${forecast(facts)}.`;
}

/** Multiples below this are not mentioned. */
const MIN_TIMES_NAMED = 1.1;

/** Compares the credits to date with those at the same point of the previous month, or with the whole compared month. */
export function soFarWords(facts: Facts): string {
  const { evidence, credits, period, previous_period, created_at } = facts;
  const [used, before] = [credits?.current ?? 0n, evidence.daily_usage?.previous_same_point ?? null];
  const isBeside = period !== null && previous_period === addPeriods(period, -1);
  const times = before === null || before <= 0n ? 0 : Number(used) / Number(before);
  if (!isBeside || times < MIN_TIMES_NAMED) return `${grouped(used)} so far. ${baselineWords(facts)}`;
  return `${grouped(used)} so far, ${grouped(times)}x the same point in ${monthName(previous_period, created_at)}.`;
}

/** A cause is named if it explains at least 1/MIN_CAUSE_PARTS (a quarter) of the change. */
const MIN_CAUSE_PARTS = 4n;

/** Returns the credits of the month: the forecast of an open month, otherwise the used credits. */
function expectedOf({ credits, evidence }: Facts): bigint {
  return BigInt(evidence.projection?.credits ?? credits?.current ?? 0n);
}

/** A lasting change of the daily credits. */
interface RateChange {
  /** The first day with the new rate, `YYYY-MM-DD`. */
  since: string;
  before: bigint;
  now: bigint;
}

/**
 * Returns the latest lasting change of daily usage if it explains at least a quarter of the month's change. Null if
 * there is no such change. A fall of daily usage does not explain a growing month, nor a rise a falling month.
 */
export function rateChange(facts: Facts): RateChange | null {
  const { evidence, credits, period, read_at, created_at } = facts;
  const { since = null, usual_daily_credits, recent_daily_credits } = evidence.daily_usage ?? {};
  if (since === null || period === null || credits === null) return null;
  const [now, before] = [BigInt(recent_daily_credits ?? 0n), BigInt(usual_daily_credits ?? 0n)];
  const isWhole = evidence.projection !== null || !isOpenMonth(facts);
  const toMs = isWhole ? periodEndMs(period) : Date.parse(read_at ?? created_at);
  const days = (toMs - Math.max(Date.parse(since), periodStartMs(period))) / DAY_MS;
  const explained = Number(now - before) * days;
  const change = Number(expectedOf(facts) - BigInt(credits.previous));
  const isCause = explained * change > 0 && Math.abs(explained) * Number(MIN_CAUSE_PARTS) >= Math.abs(change);
  return isCause ? { since, before, now } : null;
}

/** Returns a sentence about the change of daily usage that explains the month's change; empty if no change does. */
export function sinceWords(facts: Facts): string {
  const change = rateChange(facts);
  if (change === null) return '';
  const { since, now, before } = change;
  return `Since ${dateName(since, facts.created_at)}: ${grouped(now)} a day, before: ${grouped(before)}.`;
}

/** Names the causes of growth: more requests, more credits per request, or both. Empty without growth. */
export function growthCauses(facts: Facts): ('requests' | 'each')[] {
  const { credits, requests } = facts;
  if (credits === null || requests === null || credits.current <= 0n) return [];
  const [current, asked] = [BigInt(credits.current), BigInt(requests.current)];
  // In an open month, the causes of the forecast growth are named.
  const expected = expectedOf(facts);
  const split = splitCreditChange(
    { credits: BigInt(credits.previous), requests: BigInt(requests.previous) },
    { credits: expected, requests: (asked * expected) / current },
  );
  const change = expected - BigInt(credits.previous);
  if (split === null || change <= 0n) return [];
  const isCause = (part: bigint) => part * MIN_CAUSE_PARTS >= change;
  return [
    ...(isCause(split.volume) ? ['requests' as const] : []),
    ...(isCause(split.intensity) ? ['each' as const] : []),
  ];
}

/** Returns the causes of the growth as a sentence; empty if they are unknown. */
export function causeWords(facts: Facts): string {
  const causes = growthCauses(facts);
  if (causes.length === 2) return 'More requests, and each costs more.';
  return { requests: 'More requests.', each: 'Each request costs more.', none: '' }[causes[0] ?? 'none'];
}

/** Returns a sentence with the limits of the plans that the growth has exceeded; empty if it has exceeded none. */
export function plan({ evidence }: Facts): string {
  const { planned_bounds } = evidence;
  return planned_bounds.length === 0 ? '' : `Planned: up to ${listed(planned_bounds.map(grouped))}.`;
}
