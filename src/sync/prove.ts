import type { Consistency } from '../config/types.ts';
import type { WalkVerdict } from '../ledger/journal/runs/fail-run.ts';
import type { WalkFacts } from '../ledger/journal/staging/staging.ts';

/** With `auto`, listings up to this many pages are read until two walks in a row agree. */
export const AUTO_TWICE_PAGES = 50;
/** Walks a run may take; after the last one it applies nothing. */
export const MAX_WALKS = 3;

/** Something that a complete, unmoved listing cannot show. */
export type Sign =
  | 'totals_moved'
  | 'pages_missing'
  | 'records_missing'
  | 'records_repeated'
  | 'short_page'
  | 'page_repeated'
  | 'outside_window';

export interface WalkJudgement {
  verdict: WalkVerdict;
  signs: Sign[];
}

/**
 * Judges one walk. Complete means: every page seen, the same totals on every page, as many distinct keys as records
 * were announced, nothing repeated and everything inside the window. Rows that only move are caught by the count (a
 * row missed means another one repeated); a deletion together with an addition is not, so `twice` also demands that
 * the walk before was clean and had the same keys.
 */
export function judgeWalk(facts: WalkFacts, consistency: Consistency, previousWasClean: boolean): WalkJudgement {
  const signs = signsOfMovement(facts);
  if (signs.length > 0) return { verdict: 'moved', signs };
  const twice = consistency === 'twice' || (consistency === 'auto' && facts.totalPages <= AUTO_TWICE_PAGES);
  const confirmed = previousWasClean && facts.sameKeysAsPrevious === true;
  return { verdict: twice && !confirmed ? 'unconfirmed' : 'accepted', signs };
}

export function signsOfMovement(facts: WalkFacts): Sign[] {
  const signs: Sign[] = [];
  // An empty listing has no pages, yet its first one is always read.
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
