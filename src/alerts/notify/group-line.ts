import { counted, firstOf } from '../../core/text/words.ts';
import type { UsageRule } from '../rules/rule.ts';
import { ruleOf } from '../rules/table.ts';
import { baselineMonth, monthOf, placeOf, subjectOf } from '../wording/facts-told.ts';
import { grouped, signed } from '../wording/names.ts';
import type { Facts } from '../wording/notification.ts';
import { ownWords } from './own-sentences.ts';

const NAMED = 5;

/** What a message that stands for several says; the largest come first. `tenants` is how many there are in that month. */
export function groupLine(all: readonly Facts[], tenants: number): string {
  const [first] = all;
  if (first === undefined) return '';
  const rule = ruleOf(first.rule);
  if (rule.kind === 'own') {
    const names = firstOf(all.map(placeOf), NAMED);
    const where = counted(all.length, 'workspace');
    const { found, over, todo } = ownWords(rule, first);
    return first.event === 'closed' ? `${over(where)} They are ${names}.` : `${found(where)}: ${names}. ${todo}`;
  }
  const who = `${grouped(all.length)} of ${counted(tenants, 'tenant')} of ${placeOf(first)}`;
  const month = monthOf(first);
  const likely = all.filter(({ level }) => level === 'likely');
  const isLikely = likely.length === all.length && all.every(({ evidence }) => evidence.projection !== null);
  const expected = (each: Facts) => (isLikely ? each.evidence.projection?.credits : each.credits?.current) ?? 0n;
  const forecast = isLikely ? 'forecast ' : '';
  const figures = all.map(
    (each) => `${subjectOf(each)} ${forecast}${grouped(expected(each))}${besideWhat(rule, each)}`,
  );
  const largest = `Largest: ${firstOf(figures, NAMED)}.`;
  if (first.event === 'closed') return `${endOfMany(rule, all, who)}. ${largest}`;
  const share = likely.length === 0 ? 'none' : likely.length === all.length ? 'all' : 'some';
  const found = `${who} ${rule.words.manyFound(month, share)}`;
  if (rule.overThreshold === true) return `${found}. ${largest}`;
  const sum = all.reduce((total, each) => total + BigInt(expected(each)) - (each.credits?.previous ?? 0n), 0n);
  return `${found}, ${forecast}${signed(sum)} credits together. ${largest}`;
}

/** What is over of many, who are named as `who`. */
function endOfMany(rule: UsageRule, all: readonly Facts[], who: string): string {
  const [first] = all;
  const month = first === undefined ? '' : monthOf(first);
  const title = `The ${rule.title} of ${who}`;
  if (all.every(({ closed_because }) => closed_because === 'left_window'))
    return `${title} is closed: ${month} is no longer looked at`;
  if (first !== undefined && all.every(({ closed_because }) => closed_because === 'workspace_ended'))
    return `${title} is closed: ${placeOf(first)} is no longer read`;
  if (all.every(({ closed_because }) => closed_because === 'unrouted'))
    return `${title} is no longer told here; it goes on`;
  const isLikely = all.every(({ level }) => level === 'likely');
  return `${who} ${rule.words.manyOver(month, isLikely)}`;
}

/** What the figure of one is compared with. */
function besideWhat(rule: UsageRule, facts: Facts): string {
  if (rule.words.beside !== undefined) return rule.words.beside(facts);
  const { credits, period, previous_period } = facts;
  return ` (${period === previous_period ? 'before' : baselineMonth(facts)} ${grouped(credits?.previous ?? 0n)})`;
}
