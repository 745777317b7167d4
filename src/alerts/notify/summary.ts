import { ruleOf } from '../rules/table.ts';
import { monthOf, placeOf, subjectOf } from '../wording/facts-told.ts';
import { dayName, grouped } from '../wording/names.ts';
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
  // Who is told anew, because nobody knows what arrived or the route was another, hears of no end that was none.
  const isTwice = event === 'again' && facts.episode < 2;
  const adds = event === 'grown' ? grownWords(facts) : isTwice ? '' : since;
  const sentences = event === 'closed' ? [endOf(facts)] : [...opening(facts), adds, readWords(facts)];
  return `${place}${sentences.filter((sentence) => sentence !== '').join(' ')}`;
}

/** What a message adds to the ones before it. */
const SINCE: Partial<Record<Facts['event'], string>> = {
  again: 'It had ended, and has come back.',
  eased: 'By the figures and the limit of now it has not happened, as the last message said.',
  reminder: 'Nobody has acknowledged this yet.',
  flapping: 'It comes and goes: the next message comes when it has stayed for an hour.',
};

function grownWords({ rule: name, level, evidence }: Facts): string {
  const rule = ruleOf(name);
  const isForetold = rule.kind === 'usage' && rule.hasLevels === true && level === 'likely';
  if (isForetold && evidence.projection !== null) return 'The forecast has grown since the last message.';
  return (rule.kind === 'usage' ? rule.words.grown : undefined) ?? 'It has grown since the last message.';
}

const DAY_MS = 86_400_000;

/** When figures were read that are older than a day. */
export function readWords({ period, read_at, created_at }: Facts): string {
  if (period === null || read_at === null || Date.parse(created_at) - Date.parse(read_at) < DAY_MS) return '';
  return `These figures were read on ${dayName(read_at.slice(0, 7), Number(read_at.slice(8, 10)), created_at)}.`;
}

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
  const about = `${rule.title} of ${subjectOf(facts)}`;
  if (facts.closed_because === 'left_window')
    return `${monthOf(facts)} is no longer looked at: the ${about} is closed.`;
  const what = facts.period === null ? about : `${monthOf(facts)} ${about}`;
  if (facts.closed_because === 'workspace_ended') return `The workspace is no longer read: the ${what} is closed.`;
  if (rule.kind === 'own') return ownEnd(rule, facts);
  if (facts.closed_because === 'unrouted') return `The ${what} is no longer told here; it goes on.`;
  return rule.words.over(facts);
}
