import { counted } from '../../../core/text/counted.ts';
import { firstOf } from '../../../core/text/first-of.ts';
import { isSelfRule } from '../../rules/table.ts';
import { endOfMany } from './ends.ts';
import { baselineMonths, type Facts, monthOf, placeOf, subjectOf } from './facts-told.ts';
import { grouped, signed } from './names.ts';
import { ownWords } from './own-sentences.ts';

const NAMED = 5;

/** What is so of all of them. */
const TOGETHER: Partial<Record<Facts['rule'], (month: string, likely: 'all' | 'some' | 'none') => string>> = {
  jump: (month, likely) =>
    ({
      all: `will probably pass their ${month} limit`,
      some: `are over their ${month} limit or will probably pass it`,
      none: `are over their ${month} limit`,
    })[likely],
  drop: (month, likely) =>
    ({
      all: `have stopped in ${month}`,
      some: `have stopped in ${month} or used far less`,
      none: `used far less in ${month}`,
    })[likely],
  new_spend: (month, likely) =>
    likely === 'all' ? `are probably new ids of others in ${month}` : `are new in ${month}`,
  trend: (month) => `grew month by month up to ${month}`,
  budget: (month) => `are near or over their ${month} budget`,
  regression: (month) => `lost credits of ${month}`,
  restatement: (month) => `have other figures for ${month} than before`,
  withdrawn: (month) => `are no longer listed in ${month}`,
};

/** What a message that stands for several says; the largest come first. `tenants` is how many there are in that month. */
export function groupLine(all: readonly Facts[], tenants: number): string {
  const [first] = all;
  if (first === undefined) return '';
  const { rule, event } = first;
  if (isSelfRule(rule)) {
    const names = firstOf(all.map(placeOf), NAMED);
    const where = counted(all.length, 'workspace');
    const { found, over, todo } = ownWords(first);
    return event === 'closed' ? `${over(where)} They are ${names}.` : `${found(where)}: ${names}. ${todo}`;
  }
  const who = `${grouped(all.length)} of ${counted(tenants, 'tenant')} of ${placeOf(first)}`;
  const month = monthOf(first);
  const likely = all.filter(({ level }) => level === 'likely');
  const isLikely = likely.length === all.length && all.every(({ evidence }) => evidence.projection !== null);
  const expected = (each: Facts) => (isLikely ? each.evidence.projection?.credits : each.credits?.current) ?? 0n;
  const figures = all.map((each) => {
    const forecast = isLikely ? 'forecast ' : '';
    return `${subjectOf(each)} ${forecast}${grouped(expected(each))}${besideWhat(each)}`;
  });
  if (event === 'closed') return `${endOfMany(all, who)}. Largest: ${firstOf(figures, NAMED)}.`;
  if (rule === 'budget') return `${who} ${TOGETHER[rule]?.(month, 'some')}. Largest: ${firstOf(figures, NAMED)}.`;
  const sum = all.reduce((total, each) => total + BigInt(expected(each)) - (each.credits?.previous ?? 0n), 0n);
  const together = `${isLikely ? 'forecast ' : ''}${signed(sum)} credits together`;
  const share = likely.length === 0 ? 'none' : likely.length === all.length ? 'all' : 'some';
  return `${who} ${TOGETHER[rule]?.(month, share)}, ${together}. Largest: ${firstOf(figures, NAMED)}.`;
}

/** What the figure of one is compared with. */
function besideWhat(facts: Facts): string {
  const { rule, credits, threshold, period, previous_period } = facts;
  if (rule === 'budget') return ` (budget ${grouped(threshold ?? 0n)})`;
  if (rule === 'new_spend') return '';
  return ` (${period === previous_period ? 'before' : baselineMonths(facts)} ${grouped(credits?.previous ?? 0n)})`;
}
