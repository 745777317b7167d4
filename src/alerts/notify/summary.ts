import { isSelfRule } from '../rules/table.ts';
import { costWords } from './wording/cost.ts';
import { endOf } from './wording/ends.ts';
import { type Facts, monthOf, placeOf } from './wording/facts-told.ts';
import { ownSentences } from './wording/own-sentences.ts';
import { FOUND } from './wording/usage-sentences.ts';

/**
 * What a message says, in the order in which it is asked: what happened, to whom, how much beside what, how sure, since when,
 * what it costs, what to do. Safe for a terminal whatever the names.
 */
export function summaryLine(facts: Facts): string {
  const { event, tenant_id, evidence } = facts;
  const place = tenant_id === null ? '' : `${placeOf(facts)}: `;
  // A newcomer that turns out to be somebody's new id was not corrected.
  const since = event === 'eased' && evidence.former_tenant != null ? '' : (SINCE[event] ?? '');
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
  const { rule } = facts;
  if (isSelfRule(rule)) return ownSentences(facts);
  // Incidents are of older ledgers.
  if (rule === 'incident') return [`Several tenants of ${placeOf(facts)} have alerts in ${monthOf(facts)}.`];
  return [...FOUND[rule](facts), costWords(facts)];
}
