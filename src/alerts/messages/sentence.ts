import { DAY_MS } from '../../core/durations.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { localDay } from '../../core/time-zone.ts';
import { causeMessage } from '../rules/message.ts';
import { RULE_TABLE, type SystemRule, type UsageRule, usageKind, usageRule } from '../rules/rules.ts';
import type { Facts } from './facts/facts.ts';
import { aboutAmount, amountWords, momentName, named } from './facts/names.ts';
import { isOpenMonth, monthOf, placeOf, titleSubject } from './facts/phrases.ts';
import { linesOf, type MessageText } from './message.ts';

/**
 * Returns the title and the lines of a message about one alert. The texts are safe for a terminal, even if they contain
 * names from outside.
 */
export function alertText(facts: Facts): MessageText {
  // The last message about a settled month shows the final figures, not an end.
  if (facts.event === 'closed' && facts.closed_because !== 'settled') return endText(facts);
  const rule = RULE_TABLE[facts.rule];
  return rule.type === 'usage' ? usageText(rule, facts) : systemText(rule, facts);
}

function usageText({ message }: UsageRule, facts: Facts): MessageText {
  const { title, figures, causes = [] } = message.found(facts);
  return {
    title: `${titleSubject(facts)}: ${title}`,
    lines: linesOf([eventWords(facts), ...figures, readWords(facts), monthWords(facts)], causes, [
      costWords(facts, message.cost),
    ]),
  };
}

function systemText(rule: SystemRule, facts: Facts): MessageText {
  const { detail } = facts.evidence;
  const why = detail === null ? '' : `${capitalized(inertText(detail)).replace(/\.$/, '')}.`;
  const { found, todo } = causeMessage(rule.message, facts);
  return { title: found(whose(facts)), lines: linesOf([why], [eventWords(facts)], [todo]) };
}

/** Capitalizes a sentence unless it begins with a name or an address. */
function capitalized(words: string): string {
  return /^[a-z]+ /.test(words) ? `${words.slice(0, 1).toUpperCase()}${words.slice(1)}` : words;
}

const EVENT_WORDS: Partial<Record<Facts['event'], string>> = {
  again: 'It had ended and holds again.',
  eased: 'Corrected since the last message.',
  reminder: 'Not acknowledged yet.',
  flapping: 'It begins and ends repeatedly. The next message follows after an hour without a change.',
};

/** Explains why the channel gets another message; empty for the first one. */
export function eventWords(facts: Facts): string {
  const { event, evidence, level } = facts;
  if (event === 'grown') return usageRule(facts.rule)?.message.grown ?? 'Grown since the last message.';
  // If the alert eased because a predecessor was found, the service has corrected nothing.
  if (event === 'eased' && evidence.predecessor !== null) return '';
  if (event === 'eased' && level === 'likely' && evidence.projection !== null)
    return 'Corrected: now it is only a forecast again.';
  // In its first episode the alert has never ended. The message repeats an uncertain delivery or follows a change of
  // routes.
  if (event === 'again' && facts.episode < 2) return '';
  return EVENT_WORDS[event] ?? '';
}

/** Returns a sentence with the date of the figures if they are older than a day; empty otherwise. */
export function readWords(facts: Facts): string {
  const { period, read_at, created_at } = facts;
  if (period === null || read_at === null || Date.parse(created_at) - Date.parse(read_at) < DAY_MS) return '';
  return `Figures as of ${momentName(read_at, facts)}.`;
}

/**
 * Returns a note that months are in UTC if the channel's time zone is in another month at that moment; empty otherwise.
 */
export function monthWords({ period, created_at, time_zone }: Facts): string {
  const isOtherMonth = localDay(created_at, time_zone).slice(0, 7) !== created_at.slice(0, 7);
  return period !== null && isOtherMonth ? 'Billing months are in UTC.' : '';
}

/**
 * Returns what a system alert is about: the name after the colon in its cause, such as a channel, or else its
 * workspace.
 */
function whose(facts: Facts): string {
  const name = facts.cause?.split(':').slice(1).join(':');
  return name ? named(name) : placeOf(facts);
}

/** Formats the cost, rounded for a forecast; empty without a rate card. */
function costWords(facts: Facts, sentence: UsageRule['message']['cost']): string {
  const { at_stake_money: money } = facts.evidence;
  if (sentence === undefined || money === null || BigInt(money.amount_minor) === 0n) return '';
  return sentence(isOfMonthEnd(facts) ? aboutAmount(money) : amountWords(money), facts);
}

/**
 * Reports whether the credits at stake are those expected at the end of an open month: forecast growth, or the loss
 * if nothing more is used.
 */
export function isOfMonthEnd(facts: Facts): boolean {
  const { rule, credits, evidence } = facts;
  if (usageKind(rule)?.stake?.of === 'fall') return isOpenMonth(facts);
  return evidence.projection !== null && evidence.projection.credits > (credits?.current ?? 0n);
}

/** Returns the text for an alert that ended or is no longer sent to this channel. */
function endText(facts: Facts): MessageText {
  const rule = RULE_TABLE[facts.rule];
  const { closed_because: because } = facts;
  if (rule.type === 'system') {
    const { found, ended } = causeMessage(rule.message, facts);
    if (because === 'unrouted')
      return { title: `${found(whose(facts))} (no longer sent here)`, lines: ['It is still open.'] };
    if (because === 'workspace_ended')
      return { title: `${rule.kind.title} of ${placeOf(facts)} closed`, lines: [ENDED] };
    return { title: ended(whose(facts)), lines: [] };
  }
  const what = `${titleSubject(facts)}: ${facts.period === null ? '' : `${monthOf(facts)} `}${rule.kind.title}`;
  if (because === 'unrouted') return { title: `${what} no longer sent here`, lines: ['It is still open.'] };
  if (because === 'left_window') return { title: `${what} closed`, lines: [leftWindow(facts)] };
  if (because === 'workspace_ended') return { title: `${what} closed`, lines: [ENDED] };
  const { figures, why } = rule.message.ended(facts);
  return { title: `${what} closed${figures === '' ? '' : `, ${figures}`}`, lines: linesOf([why]) };
}

const ENDED = 'The workspace is no longer read.';

function leftWindow(facts: Facts): string {
  return `${facts.period === null ? 'It' : monthOf(facts)} has left the alert window.`;
}
