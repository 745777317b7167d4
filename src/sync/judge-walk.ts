import type { Consistency } from '../config/types.ts';
import type { WalkVerdict } from '../ledger/journal/runs/fail-run.ts';
import type { WalkFacts } from '../ledger/journal/staging/staging.ts';

/** With `consistency: auto`, a listing of at most this many pages is read until two consecutive walks agree. */
const AUTO_TWICE_PAGES = 50;

/** A sign that the listing changed during a walk, or is incomplete. A walk reads all pages of the listing once. */
export type ChangeSign =
  | 'totals_moved'
  | 'pages_missing'
  | 'records_missing'
  | 'records_repeated'
  | 'short_page'
  | 'page_repeated'
  | 'outside_window';

interface WalkJudgement {
  verdict: WalkVerdict;
  signs: ChangeSign[];
}

/**
 * Decides whether a walk is accepted. A walk is complete if it read every page, if all pages announced the same totals,
 * if it found as many distinct keys as records were announced, and if no key was repeated or outside the window. If
 * rows moved to another page during the walk, one row is missed and another is repeated, so the number of keys is
 * wrong. If one row was deleted and another was added, the number of keys is right; therefore `twice` also requires a
 * complete previous walk with the same keys. If every page has the same bytes as in the last verified listing, one walk
 * is enough.
 */
export function judgeWalk(facts: WalkFacts, consistency: Consistency, previousWasClean: boolean): WalkJudgement {
  const signs = findChangeSigns(facts);
  if (signs.length > 0) return { verdict: 'moved', signs };
  const twice = consistency === 'twice' || (consistency === 'auto' && facts.totalPages <= AUTO_TWICE_PAGES);
  const confirmed = facts.unchanged || (previousWasClean && facts.sameKeysAsPrevious === true);
  return { verdict: twice && !confirmed ? 'unconfirmed' : 'accepted', signs };
}

/** Lists the signs that the listing changed during a walk, or is incomplete. */
export function findChangeSigns(facts: WalkFacts): ChangeSign[] {
  const signs: ChangeSign[] = [];
  // An empty listing announces no pages, but page 1 is always read.
  if (facts.pages !== Math.max(1, facts.totalPages)) signs.push('pages_missing');
  if (facts.totalsMoved) signs.push('totals_moved');
  if (facts.recordsOutsideWindow > 0) signs.push('outside_window');
  const repeated = facts.records - facts.recordsOutsideWindow - facts.distinctKeys;
  if (repeated > 0) signs.push('records_repeated');
  if (facts.distinctKeys !== facts.totalRecords) signs.push('records_missing');
  if (facts.shortPages > 0) signs.push('short_page');
  if (facts.repeatedPages > 0) signs.push('page_repeated');
  return signs;
}
