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
} from '../../wording/facts-told.ts';
import { dayName, grouped, signed } from '../../wording/names.ts';
import type { Facts } from '../../wording/notification.ts';
import type { UsageWords } from '../rule.ts';

/** What is said of a jump, of a tenant or of a workspace. */
export const jumpWords: UsageWords = {
  found(facts) {
    const [who, month, used] = heads(facts);
    const limit = grouped(facts.threshold ?? 0n);
    const basis = facts.evidence.detail === null ? '' : `It is ${facts.evidence.detail}.`;
    if (facts.level === 'likely') {
      return [
        `${who} will probably pass its ${month} limit: forecast ${forecast(facts)}, limit ${limit}${day(facts)}.`,
        `So far it used ${used} credits; ${baselineWords(facts)}${limitReason(facts).replace('(', '(the limit is ')}.`,
        ...[basis, plan(facts)],
      ];
    }
    return [
      `${who} used ${used} credits in ${month}; ${baselineWords(facts)}.`,
      `That is over the limit of ${limit}${limitReason(facts)}${reached(facts)}.`,
      ...[settled(facts), goesOn(facts), driver(facts), basis, plan(facts)],
    ];
  },
  over(facts) {
    const { level, threshold, credits, evidence } = facts;
    const [who, month, used] = heads(facts);
    const limit = grouped(threshold ?? 0n);
    const current = credits?.current ?? 0n;
    if (threshold === null)
      return `${who} has no limit in ${month} any more: there is nothing left to compare its ${used} credits with.`;
    const isUnder = current < threshold;
    if (isUnder && level !== 'likely') {
      return `${who} is under its ${month} limit of ${limit} again: it was corrected to ${used} credits.`;
    }
    if (evidence.projection === null) {
      return isUnder
        ? `${who} stayed under its ${month} limit of ${limit}: it used ${used} credits.`
        : `${who} used ${used} credits in ${month}, no more than what they are compared with.`;
    }
    return evidence.projection.credits < threshold
      ? `${who} will probably stay under its ${month} limit of ${limit}${forecastWords(facts)}.`
      : `${who} will probably use no more in ${month} than before${forecastWords(facts)}.`;
  },
  manyFound: (month, likely) =>
    ({
      all: `will probably pass their ${month} limit`,
      some: `are over their ${month} limit or will probably pass it`,
      none: `are over their ${month} limit`,
    })[likely],
  manyOver: (month, isLikely) =>
    isLikely ? `will probably stay under their ${month} limit` : `are under their ${month} limit again`,
  cost: 'The increase costs',
};

/** The first day by whose end a limit was passed. */
function reached({ evidence, threshold, period, created_at }: Facts): string {
  const days = evidence.course?.days.current ?? [];
  const at = threshold === null ? -1 : days.findIndex((credits) => credits !== null && credits >= threshold);
  if (at < 0 || period === null) return '';
  const wasSeen = at === 0 || days[at - 1] != null;
  return `, reached ${wasSeen ? 'on' : 'by'} ${dayName(period, at + 1, created_at)}`;
}

/** Whether there are more requests, or each costs more. */
function driver({ evidence, reason, requests }: Facts): string {
  const { split } = evidence;
  if (split === null || reason === null) return '';
  const [volume, each] = [BigInt(split.volume_credits), BigInt(split.intensity_credits)];
  const number = `${volume < 0n ? 'fewer' : 'more'} requests (${signed(volume)} credits)`;
  const cost = `each request costs ${each < 0n ? 'less' : 'more'} (${signed(each)} credits)`;
  if (volume === 0n || requests?.change === 0n)
    return `Each request costs ${each < 0n ? 'less' : 'more'} (${signed(each)} credits); the number of requests is unchanged.`;
  if (each === 0n) return `There are ${number}; what each costs is unchanged.`;
  return `There are ${number}, and ${cost}.`;
}
