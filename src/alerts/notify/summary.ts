import { ruleOf } from '../rules/table.ts';
import { monthOf, placeOf, subjectOf } from '../wording/facts-told.ts';
import { grouped } from '../wording/names.ts';
import type { Facts, StakeMoney } from '../wording/notification.ts';
import { ownEnd, ownSentences } from './own-sentences.ts';

/**
 * What a message says, in the order in which it is asked: what happened, to whom, how much beside what, how sure, since when,
 * what it costs, what to do. Safe for a terminal whatever the names.
 */
export function summaryLine(facts: Facts): string {
  const { event, tenant_id, evidence } = facts;
  const place = tenant_id === null ? '' : `${placeOf(facts)}: `;
  // A newcomer that turns out to be somebody's new id was not corrected.
  const since = event === 'eased' && evidence.former_tenant !== null ? '' : (SINCE[event] ?? '');
  const sentences = event === 'closed' ? [endOf(facts)] : [...opening(facts), since];
  return `${place}${sentences.filter((sentence) => sentence !== '').join(' ')}`;
}

/** What a message adds to the ones before it. */
const SINCE: Partial<Record<Facts['event'], string>> = {
  again: 'It had ended, and has come back.',
  grown: 'It has grown since the last message.',
  eased: 'It had happened already; a correction has taken that back.',
  reminder: 'Nobody has acknowledged this yet.',
  flapping: 'It comes and goes: the next message comes when it has stayed for an hour.',
};

function opening(facts: Facts): string[] {
  const rule = ruleOf(facts.rule);
  if (rule.kind === 'own') return ownSentences(rule, facts);
  return [...rule.words.found(facts), costWords(facts, rule.words.cost)];
}

/** What it costs; nothing where no card prices it. */
function costWords(facts: Facts, of: string): string {
  const { at_stake_money: money, projection } = facts.evidence;
  if (money === null || BigInt(money.amount_minor) === 0n) return '';
  const goesOn = projection !== null && projection.credits > (facts.credits?.current ?? 0n);
  return `${of} ${amountWords(money)}${goesOn ? ` by the end of ${monthOf(facts)}` : ''}.`;
}

/** `1,234.50 EUR`. */
export function amountWords({ amount, currency }: StakeMoney): string {
  const [whole = '', part] = amount.split('.');
  const integer = grouped(BigInt(whole));
  return `${part === undefined ? integer : `${integer}.${part}`} ${currency}`;
}

/** Why an alert is over, or is told no more. */
function endOf(facts: Facts): string {
  const rule = ruleOf(facts.rule);
  const what = `${rule.title} of ${subjectOf(facts)}`;
  if (facts.closed_because === 'left_window') return `${monthOf(facts)} is no longer looked at: the ${what} is closed.`;
  if (facts.closed_because === 'workspace_ended') return `The workspace is no longer read: the ${what} is closed.`;
  if (rule.kind === 'own') return ownEnd(rule, facts);
  if (facts.closed_because === 'unrouted') return `The ${what} is no longer told here; it goes on.`;
  return rule.words.over(facts);
}
