import { addPeriods } from '../../core/period.ts';
import { findsGrowth, usageKind } from '../rules/rules.ts';
import type { DailyUsage, Facts, MoneyAtStake, TenantsEvidence } from './facts/facts.ts';
import { amountWords, grouped, named, signed } from './facts/names.ts';
import { growthCauses, isOpenMonth, limitOf, rateChange } from './facts/phrases.ts';

/** One fact about an alert: a label and its value in words. */
export interface Fact {
  label: string;
  value: string;
}

/** Returns the facts listed below an alert's sentence, most important first. Unknown facts are left out. */
export function alertFacts(facts: Facts): Fact[] {
  const { credits, requests, evidence } = facts;
  const { daily_usage: usage, at_stake_credits, at_stake_money, projection, predecessor } = evidence;
  return known([
    ['Tenant', facts.tenant_id],
    ['Name', facts.tenant_name],
    ['Workspace', facts.workspace_id],
    ['Credits', credits === null ? null : pairWords(facts, credits)],
    ['Requests', requests === null ? null : pairWords(facts, requests)],
    ['Limit', thresholdWords(facts)],
    ['Forecast', projection === null ? null : forecastFact(facts, projection)],
    ['Since', rateChangeWords(facts)],
    ['A day', usage === null || usage.since !== null ? null : rateWords(facts, usage)],
    ['Same point', usage === null || projection === null ? null : samePointWords(facts, usage)],
    ['Share', shareWords(facts)],
    ['Why', driverWords(facts)],
    ['Difference', at_stake_credits === null ? null : differenceWords(facts, BigInt(at_stake_credits))],
    [
      'Cost',
      at_stake_money === null || BigInt(at_stake_money.amount_minor) === 0n ? null : moneyWords(facts, at_stake_money),
    ],
    ['Largest', evidence.tenants === null ? null : largestTenantsWords(facts, evidence.tenants)],
    ['New id of', predecessor === null ? null : predecessor.tenant_id],
  ]);
}

function known(pairs: readonly (readonly [string, string | null])[]): Fact[] {
  return pairs.flatMap(([label, value]) => (value === null ? [] : [{ label, value }]));
}

function pairWords(
  facts: Facts,
  figures: { previous: bigint; current: bigint; change: bigint; change_percent?: number | bigint | null },
): string {
  const { period, previous_period } = facts;
  const { previous, current, change, change_percent = null } = figures;
  if (period === previous_period && change === 0n) return `${grouped(current)} in ${period}, as before`;
  const percent = change_percent === null ? '' : `, ${signed(change_percent)}%`;
  const difference = change === 0n ? '' : ` (${signed(change)}${percent})`;
  if (period === previous_period) return `${grouped(current)} in ${period}, ${grouped(previous)} before${difference}`;
  // In an open month, less usage than in all of the compared month means nothing.
  const isPart = isOpenMonth(facts) && change < 0n;
  const so = isOpenMonth(facts) ? 'so far in' : 'in';
  return `${grouped(current)} ${so} ${period}, ${grouped(previous)} in ${previous_period}${isPart ? '' : difference}`;
}

function forecastFact(
  { period }: Facts,
  { credits, elapsed_fraction }: NonNullable<Facts['evidence']['projection']>,
): string {
  const passed = grouped(Math.round(Number(elapsed_fraction) * 1000) / 10);
  return `${grouped(credits)} credits by the end of ${period} (${passed}% of the month has passed)`;
}

/** Explains how the limit was computed. */
function thresholdWords({ rule, threshold, evidence, credits }: Facts): string | null {
  if (threshold === null) return null;
  const limit = `${grouped(threshold)} credits`;
  if (evidence.threshold === null) return limit;
  const { baseline_credits, baseline_period } = evidence.threshold;
  const isWhole = credits !== null && baseline_credits !== credits.previous;
  const base = `${grouped(baseline_credits)} (${baseline_period}${isWhole ? ' as a whole month' : ''})`;
  if (usageKind(rule)?.stake?.of === 'fall') {
    const { words } = limitOf(evidence.threshold, threshold, {
      times: (ratio) => `${ratio} x ${grouped(threshold)}`,
      more: (amount) => `${grouped(threshold)} + ${amount}`,
    });
    return `${limit} or less: ${words} is at most ${base}`;
  }
  const { limit: exact, words } = limitOf(evidence.threshold, baseline_credits, {
    times: (ratio) => `${ratio} x ${base}`,
    more: (amount) => `${base} + ${amount}`,
  });
  return `${limit}: ${words}${exact === Number(threshold) ? '' : ', rounded up'}`;
}

/** Formats the credits at stake; null if the fact "Credits" already shows the same difference. */
function differenceWords({ rule, period, threshold, credits }: Facts, difference: bigint): string | null {
  const words = `${grouped(difference)} credits`;
  if (usageKind(rule)?.stake?.of === 'over_limit' && threshold !== null)
    return difference === 0n ? null : `${words} over ${grouped(threshold)}`;
  const change = BigInt(credits?.change ?? 0n);
  const isShown = difference === change || difference === -change || BigInt(credits?.previous ?? 0n) === 0n;
  return isShown ? null : `${words} by the end of ${period}`;
}

/** Formats the cost of the difference. */
function moneyWords({ period }: Facts, money: MoneyAtStake): string {
  return `${amountWords(money)} at the prices of ${period}`;
}

function rateChangeWords(facts: Facts): string | null {
  const change = rateChange(facts);
  if (change === null) return null;
  return `${change.since}: ${grouped(change.now)} credits a day, ${grouped(change.before)} before`;
}

function rateWords({ period }: Facts, { usual_daily_credits, recent_daily_credits }: DailyUsage): string | null {
  if (recent_daily_credits === null || period === null) return null;
  const before = usual_daily_credits === null ? '' : `, ${grouped(usual_daily_credits)} in ${addPeriods(period, -1)}`;
  return `${grouped(recent_daily_credits)} credits in ${period}${before}`;
}

function samePointWords({ period, credits }: Facts, { previous_same_point }: DailyUsage): string | null {
  if (previous_same_point === null || credits === null || period === null || BigInt(credits.previous) === 0n)
    return null;
  return `${grouped(credits.current)} credits so far, ${grouped(previous_same_point)} in ${addPeriods(period, -1)} at this point`;
}

/** Names the tenants with the largest increase, each with its credits in this month and the compared month. */
function largestTenantsWords({ previous_period }: Facts, { largest }: TenantsEvidence): string | null {
  if (largest.length === 0) return null;
  return largest
    .map(
      ({ tenant_id, current_credits, previous_credits }) =>
        `${named(tenant_id)} ${grouped(current_credits)} (${previous_period} ${grouped(previous_credits)})`,
    )
    .join(', ');
}

function shareWords({ evidence }: Facts): string | null {
  const { share_of_workspace_percent, share_of_increase_percent } = evidence;
  if (share_of_workspace_percent === null) return null;
  const increase = share_of_increase_percent === null ? '' : `, ${percent(share_of_increase_percent)} of its increase`;
  return `${percent(share_of_workspace_percent)} of the workspace's credits${increase}`;
}

function percent(part: number | bigint): string {
  return Number(part) === 0 ? 'less than 0.1%' : `${grouped(part)}%`;
}

const GROWTH_CAUSE_WORDS = { requests: 'more requests', each: 'more credits per request' } as const;

/** Names the causes of the growth, and compares credits per request with before. */
function driverWords(facts: Facts): string | null {
  const { rule, credits, requests, previous_period } = facts;
  const causes = growthCauses(facts);
  if (!findsGrowth(rule) || credits === null || requests === null || causes.length === 0) return null;
  if (requests.current <= 0n) return null;
  const now = grouped(Number(credits.current) / Number(requests.current));
  const before = grouped(Number(credits.previous) / Number(requests.previous));
  return `${causes.map((cause) => GROWTH_CAUSE_WORDS[cause]).join(' and ')}: ${now} credits each, ${before} in ${previous_period}`;
}
