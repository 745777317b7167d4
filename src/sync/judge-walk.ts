import type { Consistency } from '../config/types.ts';
import type { WalkVerdict } from '../ledger/journal/runs/fail-run.ts';
import type { WalkFacts } from '../ledger/journal/staging/staging.ts';

/** With `auto`, listings up to this many pages are read until two consecutive walks agree. */
const AUTO_TWICE_PAGES = 50;

/** A sign that the listing changed during the walk, or is incomplete. */
export type Sign =
  | 'totals_moved'
  | 'pages_missing'
  | 'records_missing'
  | 'records_repeated'
  | 'short_page'
  | 'page_repeated'
  | 'outside_window';

interface WalkJudgement {
  verdict: WalkVerdict;
  signs: Sign[];
}

/**
 * Decides whether one walk is accepted. Complete means: every page read, the same totals on every page, as many
 * distinct keys as the announced records, nothing repeated and everything inside the window. The count catches rows
 * that only move (a missed row means a repeated one), but not a deletion combined with an addition, so `twice` also
 * requires that the previous walk was complete and had the same keys. A listing with the same bytes on every page as
 * the last verified one has thereby been read twice.
 */
export function judgeWalk(facts: WalkFacts, consistency: Consistency, previousWasClean: boolean): WalkJudgement {
  const signs = signsOfMovement(facts);
  if (signs.length > 0) return { verdict: 'moved', signs };
  const twice = consistency === 'twice' || (consistency === 'auto' && facts.totalPages <= AUTO_TWICE_PAGES);
  const confirmed = facts.unchanged || (previousWasClean && facts.sameKeysAsPrevious === true);
  return { verdict: twice && !confirmed ? 'unconfirmed' : 'accepted', signs };
}

export function signsOfMovement(facts: WalkFacts): Sign[] {
  const signs: Sign[] = [];
  // An empty listing has no pages, but its first one is always read.
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
