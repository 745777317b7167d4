import type { Facts } from '../../messages/facts/facts.ts';
import { dayName, grouped, named, signed } from '../../messages/facts/names.ts';
import {
  baselineMonth,
  baselineWords,
  day,
  forecast,
  forecastWords,
  goesOn,
  heads,
  limitReason,
  overWords,
  plan,
  settled,
} from '../../messages/facts/phrases.ts';
import type { UsageKind, UsageWords } from '../kind.ts';

const WORDS: UsageWords = {
  found(facts) {
    const { who, month, used } = heads(facts);
    const limit = grouped(facts.threshold ?? 0n);
    const basis = facts.evidence.detail === null ? '' : `It is ${facts.evidence.detail}.`;
    if (facts.level === 'likely') {
      return [
        `${who} will probably pass its ${month} limit: forecast ${forecast(facts)}, limit ${limit}${day(facts)}.`,
        `So far it used ${used} credits; ${baselineWords(facts)}${limitReason(facts).replace('(', '(the limit is ')}.`,
        ...tenantsWords(facts),
        basis,
        plan(facts),
      ];
    }
    return [
      `${who} used ${used} credits in ${month}; ${baselineWords(facts)}.`,
      `That is ${overWords(facts)}${limitReason(facts)}${reached(facts)}.`,
      settled(facts),
      goesOn(facts),
      driver(facts),
      ...tenantsWords(facts),
      basis,
      plan(facts),
    ];
  },
  over(facts) {
    const { level, threshold, evidence } = facts;
    const { who, month, used, previous, current } = heads(facts);
    const limit = grouped(threshold ?? 0n);
    const { projection } = evidence;
    if (threshold === null || (current >= threshold && current > previous))
      return `${who} has no limit in ${month} any more: there is nothing left to compare its ${used} credits with.`;
    if (current >= threshold)
      return `${who} used ${used} credits in ${month}, no more than that: ${baselineWords(facts)}.`;
    if (projection === null || level !== 'likely')
      return `${who} is under its ${month} limit of ${limit}${limitReason(facts)}: ${used} credits; ${baselineWords(facts)}.`;
    if (projection.credits < threshold)
      return `${who} will probably stay under its ${month} limit of ${limit}${forecastWords(facts)}.`;
    return projection.credits <= previous
      ? `${who} will probably use no more in ${month}${forecastWords(facts)}; ${baselineWords(facts)}.`
      : `It is no longer sure that ${who} will pass its ${month} limit of ${limit}${forecastWords(facts)}.`;
  },
  manyFound: (month, likely) =>
    ({
      all: `will probably pass their ${month} limit`,
      some: `are over their ${month} limit or will probably pass it`,
      none: `are over their ${month} limit`,
    })[likely],
  cost: 'The increase costs',
};

export const jump: UsageKind = {
  kind: 'usage',
  version: 7,
  title: 'jump',
  severity: 'both',
  isGrowth: true,
  hasLevels: true,
  ofSettled: true,
  sharesIncrease: true,
  quietBy: 'ratio',
  docs: {
    holds: {
      likely: 'the [forecast](#the-forecast) of an open period reaches `T` in each run over a day',
      happened: '`C >= T` already; what is missing can only add to it',
      settled: 'the period is over and settled, and `C >= T`',
    },
  },
  words: WORDS,
};

export const workspaceJump: UsageKind = {
  kind: 'usage',
  version: 7,
  title: 'jump',
  severity: 'both',
  isGrowth: true,
  explainsJumps: true,
  hasLevels: true,
  ofSettled: true,
  quietBy: 'ratio',
  docs: {
    holds: { '': "the same for the workspace's total, from five tenants on" },
    severity: 'as `jump`',
  },
  words: WORDS,
};

/** Of a workspace: what its tenants have in common, and the largest of them. */
function tenantsWords(facts: Facts): string[] {
  const { tenants, projection } = facts.evidence;
  if (tenants === null) return [];
  const { largest, common_growth: growth } = tenants;
  const month = baselineMonth(facts);
  const [come, far] = projection === null ? ['have come', ''] : ['will probably come', ' so far'];
  const names = largest.map(
    ({ tenant_id, current_credits, previous_credits }) =>
      `${named(tenant_id)} ${grouped(current_credits)}${far} (${month} ${grouped(previous_credits)})`,
  );
  const common = `More than half of its tenants ${come} to ${grouped(Number(growth))} times their ${month} or more; a tenant is told by itself only where it goes further.`;
  return [growth === null ? '' : common, names.length === 0 ? '' : `Largest increases: ${names.join(', ')}.`];
}

/** What is less than a twentieth of an increase is no reason for it. */
const LEAST_PART = 20n;

/** The first day by whose end a reading shows that a limit was passed. */
function reached({ evidence, threshold, period, created_at }: Facts): string {
  const days = evidence.course?.days.current ?? [];
  const at = threshold === null ? -1 : days.findIndex((credits) => credits !== null && credits >= threshold);
  return at < 0 || period === null ? '' : `, reached by ${dayName(period, at + 1, created_at)}`;
}

/** Whether there are more requests, or each costs more. */
function driver({ evidence, reason }: Facts): string {
  const { split } = evidence;
  if (split === null || reason === null) return '';
  const [volume, each] = [BigInt(split.volume_credits), BigInt(split.intensity_credits)];
  const number = `There are ${volume < 0n ? 'fewer' : 'more'} requests (${signed(volume)} credits)`;
  const cost = `each request costs ${each < 0n ? 'less' : 'more'} (${signed(each)} credits)`;
  const isTold = (part: bigint) => (part < 0n ? -part : part) * LEAST_PART >= volume + each;
  if (!isTold(volume)) return `${cost.replace('each', 'Each')}.`;
  return isTold(each) ? `${number}, and ${cost}.` : `${number}.`;
}
