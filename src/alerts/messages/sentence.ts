import { inertText } from '../../core/text/inert-text.ts';
import { type OwnKind, ownWords } from '../rules/kind.ts';
import { KINDS, usageKind } from '../rules/kinds.ts';
import type { Facts } from './facts/facts.ts';
import { amountWords, dateName, named } from './facts/names.ts';
import { isOpen, monthOf, placeOf, subjectOf } from './facts/phrases.ts';

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
  flapping: 'It comes and goes: the next message comes when nothing has changed for an hour.',
};

function grownWords({ rule, level, evidence }: Facts): string {
  const kind = usageKind(rule);
  const isForetold = kind?.hasLevels === true && level === 'likely' && evidence.projection !== null;
  if (isForetold) return 'The forecast has grown since the last message.';
  return kind?.words.grown ?? 'It has grown since the last message.';
}

const DAY_MS = 86_400_000;

/** When figures were read that are older than a day. */
export function readWords({ period, read_at, created_at }: Facts): string {
  if (period === null || read_at === null || Date.parse(created_at) - Date.parse(read_at) < DAY_MS) return '';
  return `These figures were read on ${dateName(read_at, created_at)}.`;
}

function opening(facts: Facts): string[] {
  const kind = KINDS[facts.rule];
  if (kind.kind === 'usage') return [...kind.words.found(facts), costWords(facts, kind.words.cost)];
  const { detail } = facts.evidence;
  const words = detail === null ? '' : `: ${inertText(detail).replace(/\.$/, '')}`;
  return [`${ownFound(kind, facts)}${words}.`, ownWords(kind, facts).todo];
}

/** What is wrong with our own work, without the words of the fault. */
function ownFound(kind: OwnKind, facts: Facts): string {
  return ownWords(kind, facts).found(whose(facts));
}

function whose(facts: Facts): string {
  const name = facts.cause?.split(':').slice(1).join(':');
  return name ? named(name) : placeOf(facts);
}

/** What it costs; nothing where no card prices it. */
function costWords(facts: Facts, of: string | undefined): string {
  const { at_stake_money: money } = facts.evidence;
  if (of === undefined || money === null || BigInt(money.amount_minor) === 0n) return '';
  return `${of} ${amountWords(money)}${isOfMonthEnd(facts) ? ` by the end of ${monthOf(facts)}` : ''}.`;
}

/** Whether what is at stake is what an open month comes to: what it grows to, or what will be missing if nothing more is used. */
export function isOfMonthEnd(facts: Facts): boolean {
  const { rule, credits, evidence } = facts;
  if (usageKind(rule)?.isFall === true) return isOpen(facts);
  return evidence.projection !== null && evidence.projection.credits > (credits?.current ?? 0n);
}

/** Why an alert is over, or is told no more. */
function endOf(facts: Facts): string {
  const kind = KINDS[facts.rule];
  const about = `${kind.title} of ${subjectOf(facts)}`;
  if (facts.closed_because === 'left_window')
    return `${monthOf(facts)} is no longer looked at: the ${about} is closed.`;
  const what = facts.period === null ? about : `${monthOf(facts)} ${about}`;
  if (facts.closed_because === 'workspace_ended') return `The workspace is no longer read: the ${what} is closed.`;
  if (facts.closed_because === 'unrouted') {
    return kind.kind === 'own'
      ? `${ownFound(kind, facts)}; this is no longer told here.`
      : `The ${what} is no longer told here; it goes on.`;
  }
  return kind.kind === 'own' ? ownWords(kind, facts).over(whose(facts)) : kind.words.over(facts);
}
