import { inertText } from '../../core/text/inert-text.ts';
import type { OwnRule } from '../rules/rule.ts';
import { placeOf } from '../wording/facts-told.ts';
import { named } from '../wording/names.ts';
import type { Facts } from '../wording/notification.ts';

/** Of a fault of our own: what is wrong, and what to do. */
export function ownSentences(rule: OwnRule, facts: Facts): string[] {
  const { detail } = facts.evidence;
  const words = detail === null ? '' : `: ${inertText(detail).replace(/\.$/, '')}`;
  return [`${ownFound(rule, facts)}${words}.`, ownWords(rule, facts).todo];
}

/** Why it is over, or is told no more. */
export function ownEnd(rule: OwnRule, facts: Facts): string {
  if (facts.closed_because === 'unrouted') return `${ownFound(rule, facts)}; this is no longer told here.`;
  return ownWords(rule, facts).over(whose(facts));
}

export function ownWords(rule: OwnRule, { cause }: Facts) {
  return rule.words(cause?.split(':')[0]);
}

/** What is wrong, without the words of the fault. */
function ownFound(rule: OwnRule, facts: Facts): string {
  return ownWords(rule, facts).found(whose(facts));
}

function whose(facts: Facts): string {
  const name = facts.cause?.split(':').slice(1).join(':');
  return name ? named(name) : placeOf(facts);
}
