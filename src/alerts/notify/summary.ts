import { isSelfRule, ruleTitle } from '../rules/table.ts';
import { costWords } from './wording/cost.ts';
import { endOf } from './wording/ends.ts';
import { type Facts, monthOf, subjectOf } from './wording/facts-told.ts';
import { named } from './wording/names.ts';
import { OWN, ownSentences } from './wording/own-sentences.ts';
import { FOUND } from './wording/usage-sentences.ts';

/**
 * What a message says, in the order in which it is asked: what happened, to whom, how much beside what, how sure, since when,
 * what it costs, what to do. Safe for a terminal whatever the names.
 */
export function summaryLine(facts: Facts): string {
  const { event, rule } = facts;
  const sentences = event === 'closed' ? closing(facts) : opening(facts);
  const place = facts.tenant_id === null ? '' : `${named(facts.workspace_id)}: `;
  const reminder = event === 'reminder' ? 'Nobody has acknowledged this yet. ' : '';
  const words = [...sentences, rule === 'incident' ? '' : (SINCE[event] ?? '')].filter((sentence) => sentence !== '');
  return `${reminder}${place}${words.join(' ')}`;
}

/** What a message adds to the ones before it. */
const SINCE: Partial<Record<Facts['event'], string>> = {
  again: 'It had ended, and has come back.',
  grown: 'It has grown since the last message.',
  eased: 'A correction has taken back what had happened.',
  flapping: 'It comes and goes: the next message comes when it has stayed for an hour.',
};

function opening(facts: Facts): string[] {
  const { rule } = facts;
  if (isSelfRule(rule)) return ownSentences({ ...facts, rule });
  // Incidents are of older ledgers.
  if (rule === 'incident') return [`Several tenants of ${named(facts.workspace_id)} have alerts in ${monthOf(facts)}.`];
  return [...FOUND[rule](facts), costWords(facts)];
}

function closing(facts: Facts): string[] {
  const { rule, closed_because } = facts;
  const what = `${ruleTitle(rule)} of ${subjectOf(facts)}`;
  if (closed_because === 'left_window') return [`${monthOf(facts)} is no longer looked at: the ${what} is closed.`];
  if (closed_because === 'unrouted') return [`The ${what} is no longer told here; it goes on.`];
  if (isSelfRule(rule)) return [OWN[rule].over(named(facts.workspace_id))];
  return [endOf(facts)];
}
