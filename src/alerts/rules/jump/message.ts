import type { Facts } from '../../messages/facts/facts.ts';
import { dayName, grouped, signed } from '../../messages/facts/names.ts';
import {
  baselineWords,
  day,
  forecast,
  forecastWords,
  goesOn,
  heads,
  limitReason,
  plan,
  settled,
} from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

/** Returns the sentences about a jump; `aboutTenants` adds those about the tenants of a workspace. */
export function createJumpMessage(aboutTenants: (facts: Facts) => string[]): UsageMessage {
  return {
    found(facts) {
      const { who, month, used } = heads(facts);
      const limit = grouped(facts.threshold ?? 0n);
      const basis = facts.evidence.detail === null ? '' : `It is ${facts.evidence.detail}.`;
      if (facts.level === 'likely') {
        return [
          `${who} will probably pass its ${month} limit: forecast ${forecast(facts)}, limit ${limit}${day(facts)}.`,
          `So far it used ${used} credits; ${baselineWords(facts)}${limitReason(facts).replace('(', '(the limit is ')}.`,
          ...aboutTenants(facts),
          basis,
          plan(facts),
        ];
      }
      return [
        `${who} used ${used} credits in ${month}; ${baselineWords(facts)}.`,
        `Limit: ${limit}${limitReason(facts)}${reached(facts)}.`,
        settled(facts),
        goesOn(facts),
        driver(facts),
        ...aboutTenants(facts),
        basis,
        plan(facts),
      ];
    },
    ended(facts) {
      const { level, threshold, evidence } = facts;
      const { who, month, used, previous, current } = heads(facts);
      const limit = grouped(threshold ?? 0n);
      const { projection } = evidence;
      if (threshold === null || (current >= threshold && current > previous))
        return `${who} no longer has a limit in ${month}: no earlier month is left to compare its ${used} credits with.`;
      if (current >= threshold)
        return `${who} used ${used} credits in ${month}, which is no growth: ${baselineWords(facts)}.`;
      if (projection === null || level !== 'likely')
        return `${who} is under its ${month} limit of ${limit}${limitReason(facts)}: ${used} credits; ${baselineWords(facts)}.`;
      if (projection.credits < threshold)
        return `${who} will probably stay under its ${month} limit of ${limit}${forecastWords(facts)}.`;
      return projection.credits <= previous
        ? `${who} will probably use no more in ${month}${forecastWords(facts)}; ${baselineWords(facts)}.`
        : `${who} may stay under its ${month} limit of ${limit}${forecastWords(facts)}.`;
    },
    foundForMany: (month, likely) =>
      ({
        all: `will probably pass their ${month} limit`,
        some: `are over their ${month} limit or will probably pass it`,
        none: `are over their ${month} limit`,
      })[likely],
    cost: 'The increase costs',
  };
}

export const jumpMessage = createJumpMessage(() => []);

/** A smaller share of an increase, one part in this many, is not named as a cause. */
const MIN_PART = 20n;

/** Returns the first day at whose end a reading was over the limit. */
function reached({ evidence, threshold, period, created_at }: Facts): string {
  const days = evidence.daily_usage?.days.current ?? [];
  const at = threshold === null ? -1 : days.findIndex((credits) => credits !== null && credits >= threshold);
  return at < 0 || period === null ? '' : `, passed by ${dayName(period, at + 1, created_at)}`;
}

/** Names the causes of the growth: more requests, or more credits for each. */
function driver({ evidence, reason }: Facts): string {
  const { split } = evidence;
  if (split === null || reason === null) return '';
  const [volume, each] = [BigInt(split.volume_credits), BigInt(split.intensity_credits)];
  const requests = `${volume < 0n ? 'fewer' : 'more'} requests (${signed(volume)} credits)`;
  const cost = `each request costs ${each < 0n ? 'less' : 'more'} (${signed(each)} credits)`;
  const isNamed = (part: bigint) => (part < 0n ? -part : part) * MIN_PART >= volume + each;
  const causes = [...(isNamed(volume) ? [requests] : []), ...(!isNamed(volume) || isNamed(each) ? [cost] : [])];
  return `Cause: ${causes.join(', and ')}.`;
}
