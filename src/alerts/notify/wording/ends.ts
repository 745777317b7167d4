import type { RuleName } from '../../rules/rule.ts';
import { isSelfRule, ruleTitle, type SelfRule } from '../../rules/table.ts';
import { percentOf } from '../percent.ts';
import { baselineMonths, baselineWords, day, type Facts, forecast, monthOf, placeOf, subjectOf } from './facts-told.ts';
import { grouped } from './names.ts';
import { ownEnd, ownFound } from './own-sentences.ts';

/** Why an alert is over, or is told no more. */
export function endOf(facts: Facts): string {
  const { rule, closed_because } = facts;
  const what = `${ruleTitle(rule)} of ${subjectOf(facts)}`;
  if (closed_because === 'left_window') return `${monthOf(facts)} is no longer looked at: the ${what} is closed.`;
  if (isSelfRule(rule))
    return closed_because === 'unrouted' ? `${ownFound(facts)}; this is no longer told here.` : ownEnd(facts);
  return closed_because === 'unrouted' ? `The ${what} is no longer told here; it goes on.` : ENDS[rule](facts);
}

type UsageRule = Exclude<RuleName, SelfRule>;

const ENDS: Record<UsageRule, (facts: Facts) => string> = {
  jump: endOfJump,
  workspace_jump: endOfJump,
  drop(facts) {
    const { level } = facts;
    const [who, month, used] = heads(facts);
    if (level === 'likely') return `${who} uses credits again: ${used} in ${month}.`;
    const before = grouped(facts.credits?.previous ?? 0n);
    return `${who} has ${used} credits in ${month}, no longer far below ${baselineMonths(facts)} (${before}).`;
  },
  new_spend(facts) {
    const [who, month, used] = heads(facts);
    const isUnder = (facts.credits?.current ?? 0n) < (facts.threshold ?? 0n);
    const why = isUnder
      ? `under the limit of ${limit(facts)} for new tenants`
      : `and had credits in ${baselineMonths(facts)} after all`;
    return `${who} has ${used} credits in ${month}, ${why}.`;
  },
  trend(facts) {
    const [who, month, used] = heads(facts);
    return `${who} did not grow month by month up to ${month} after all: ${used} credits; ${baselineWords(facts)}.`;
  },
  budget(facts) {
    const [who, month, used] = heads(facts);
    if (facts.credits === null || facts.threshold === null) return `${who} has no budget any more.`;
    const percent = grouped(percentOf(facts.credits.current, facts.threshold) ?? 0);
    return `${who} is within its ${month} budget of ${limit(facts)} again: ${used} credits, ${percent}% of it${forecastWords(facts)}.`;
  },
  regression(facts) {
    const [who, month, used] = heads(facts);
    return `The credits of ${month} that ${who} had lost are back: ${used} now.`;
  },
  restatement(facts) {
    const [who, month, used] = heads(facts);
    return `${month} of ${who} is as it was before: ${used} credits.`;
  },
  withdrawn(facts) {
    const [who, month, used] = heads(facts);
    return `${who} is listed again in ${month}, with ${used} credits.`;
  },
  incident: (facts) => `None of the alerts of ${placeOf(facts)} in ${monthOf(facts)} is open any more.`,
};

/** Why a jump is none any more. */
function endOfJump(facts: Facts): string {
  const { level, threshold, credits, evidence } = facts;
  const [who, month, used] = heads(facts);
  const current = credits?.current ?? 0n;
  if (threshold === null)
    return `${who} has no limit in ${month} any more: there is nothing left to compare its ${used} credits with.`;
  const isUnder = current < threshold;
  if (isUnder && level !== 'likely') {
    return `${who} is under its ${month} limit of ${limit(facts)} again: it was corrected to ${used} credits.`;
  }
  if (evidence.projection === null) {
    return isUnder
      ? `${who} stayed under its ${month} limit of ${limit(facts)}: it used ${used} credits.`
      : `${who} used ${used} credits in ${month}, no more than what they are compared with.`;
  }
  return evidence.projection.credits < threshold
    ? `${who} will probably stay under its ${month} limit of ${limit(facts)}${forecastWords(facts)}.`
    : `${who} will probably use no more in ${month} than before${forecastWords(facts)}.`;
}

function heads(facts: Facts): [who: string, month: string, used: string] {
  return [subjectOf(facts), monthOf(facts), grouped(facts.credits?.current ?? 0n)];
}

function limit({ threshold }: Facts): string {
  return grouped(threshold ?? 0n);
}

function forecastWords(facts: Facts): string {
  return facts.evidence.projection === null ? '' : `, forecast ${forecast(facts)}${day(facts)}`;
}

/** What is so of many tenants of which the same is over. */
const TOGETHER: Record<UsageRule, (month: string, isLikely: boolean) => string> = {
  jump: (month, isLikely) =>
    isLikely ? `will probably stay under their ${month} limit` : `are under their ${month} limit again`,
  workspace_jump: (month) => `are under their ${month} limit again`,
  drop: (month, isLikely) =>
    isLikely ? `use credits again in ${month}` : `did not use far less in ${month} after all`,
  new_spend: (month) => `are no new spend in ${month} any more`,
  trend: (month) => `did not grow month by month up to ${month} after all`,
  budget: (month) => `are within their ${month} budget again`,
  regression: (month) => `have the credits of ${month} back that they had lost`,
  restatement: (month) => `have the figures of ${month} that they had before`,
  withdrawn: (month) => `are listed again in ${month}`,
  incident: (month) => `have no alert in ${month} any more`,
};

/** The same of many, who are named as `who`. */
export function endOfMany(all: readonly Facts[], who: string): string {
  const [first] = all;
  if (first === undefined || isSelfRule(first.rule)) return '';
  const month = monthOf(first);
  const title = `The ${ruleTitle(first.rule)} of ${who}`;
  if (all.every(({ closed_because }) => closed_because === 'left_window'))
    return `${title} is closed: ${month} is no longer looked at`;
  if (all.every(({ closed_because }) => closed_because === 'unrouted'))
    return `${title} is no longer told here; it goes on`;
  return `${who} ${TOGETHER[first.rule](
    month,
    all.every(({ level }) => level === 'likely'),
  )}`;
}
