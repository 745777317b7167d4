import { DAY_MS } from '../../core/durations.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { localDay } from '../../core/time-zone.ts';
import { causeMessage } from '../rules/message.ts';
import { RULE_TABLE, type SystemRule, usageKind, usageRule } from '../rules/rules.ts';
import type { Facts } from './facts/facts.ts';
import { amountWords, momentName, named } from './facts/names.ts';
import { isOpenMonth, monthOf, placeOf, subjectOf } from './facts/phrases.ts';

/**
 * Returns the sentence of a message: event, subject, figures, certainty, start, cost, remedy. It is safe for a terminal
 * whatever the names are.
 */
export function sentenceOf(facts: Facts): string {
  const { event, tenant_id, evidence } = facts;
  const place = tenant_id === null ? '' : `${placeOf(facts)}: `;
  // An alert that eased because the tenant is a successor was not corrected.
  const since = event === 'eased' && evidence.predecessor !== null ? '' : (SINCE[event] ?? '');
  // A notification repeated after an uncertain delivery or a route change follows no end.
  const isTwice = event === 'again' && facts.episode < 2;
  const adds = event === 'grown' ? grownWords(facts) : isTwice ? '' : since;
  const ends = event === 'closed' && facts.closed_because !== 'settled';
  const sentences = ends ? [endOf(facts)] : [...opening(facts), adds, readWords(facts), monthWords(facts)];
  return `${place}${sentences.filter((sentence) => sentence !== '').join(' ')}`;
}

/** Sentences about the difference to earlier messages. */
const SINCE: Partial<Record<Facts['event'], string>> = {
  again: 'It had ended and holds again.',
  eased: 'Correction: by the current figures and limit it has not happened.',
  reminder: 'Not acknowledged yet.',
  flapping: 'It begins and ends repeatedly; the next message follows after an hour without a change.',
};

function grownWords({ rule, level, evidence }: Facts): string {
  const own = usageRule(rule);
  const isForecast = own?.kind.levels?.fromForecast === true && level === 'likely' && evidence.projection !== null;
  if (isForecast) return 'The forecast has grown since the last message.';
  return own?.message.grown ?? 'It has grown since the last message.';
}

/** When figures were read that are older than a day. */
export function readWords(facts: Facts): string {
  const { period, read_at, created_at } = facts;
  if (period === null || read_at === null || Date.parse(created_at) - Date.parse(read_at) < DAY_MS) return '';
  return `Figures as of ${momentName(read_at, facts)}.`;
}

/** Explains the month of a message that the reader's calendar dates in another one. */
export function monthWords({ period, created_at, time_zone }: Facts): string {
  const isOtherMonth = localDay(created_at, time_zone).slice(0, 7) !== created_at.slice(0, 7);
  return period !== null && isOtherMonth ? 'Billing months are in UTC.' : '';
}

function opening(facts: Facts): string[] {
  const rule = RULE_TABLE[facts.rule];
  if (rule.type === 'usage') return [...rule.message.found(facts), costWords(facts, rule.message.cost)];
  const { detail } = facts.evidence;
  const words = detail === null ? '' : `: ${inertText(detail).replace(/\.$/, '')}`;
  return [`${ownFound(rule, facts)}${words}.`, causeMessage(rule.message, facts).todo];
}

/** Returns the fault of a system alert without its detail. */
function ownFound(rule: SystemRule, facts: Facts): string {
  return causeMessage(rule.message, facts).found(whose(facts));
}

function whose(facts: Facts): string {
  const name = facts.cause?.split(':').slice(1).join(':');
  return name ? named(name) : placeOf(facts);
}

/** Formats the cost; empty without a rate card. */
function costWords(facts: Facts, of: string | undefined): string {
  const { at_stake_money: money } = facts.evidence;
  if (of === undefined || money === null || BigInt(money.amount_minor) === 0n) return '';
  return `${of} ${amountWords(money)}${isOfMonthEnd(facts) ? ` by the end of ${monthOf(facts)}` : ''}.`;
}

/**
 * Reports whether the credits at stake are those at the end of an open month: the forecast growth, or the loss if
 * nothing more is used.
 */
export function isOfMonthEnd(facts: Facts): boolean {
  const { rule, credits, evidence } = facts;
  if (usageKind(rule)?.stake?.of === 'fall') return isOpenMonth(facts);
  return evidence.projection !== null && evidence.projection.credits > (credits?.current ?? 0n);
}

/** Returns why an alert ended or is no longer sent here. */
function endOf(facts: Facts): string {
  const rule = RULE_TABLE[facts.rule];
  const about = `${rule.kind.title} of ${subjectOf(facts)}`;
  if (facts.closed_because === 'left_window')
    return `Closed: ${facts.period === null ? 'it' : monthOf(facts)} has left the alert window (${about}).`;
  const what = facts.period === null ? about : `${monthOf(facts)} ${about}`;
  if (facts.closed_because === 'workspace_ended') return `Closed: the workspace is no longer read (${what}).`;
  if (facts.closed_because === 'unrouted') {
    return rule.type === 'system'
      ? `${ownFound(rule, facts)}; this is no longer sent here.`
      : `The ${what} is no longer sent here; it is still open.`;
  }
  return rule.type === 'system' ? causeMessage(rule.message, facts).ended(whose(facts)) : rule.message.ended(facts);
}
