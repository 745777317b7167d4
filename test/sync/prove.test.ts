import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { WalkFacts } from '../../src/ledger/journal/staging/staging.ts';
import { type ChangeSign, findChangeSigns, judgeWalk } from '../../src/sync/judge-walk.ts';

/** A clean walk over 3 pages of 250 records. */
const CLEAN: WalkFacts = {
  pages: 3,
  records: 250,
  distinctKeys: 250,
  totalRecords: 250,
  totalPages: 3,
  totalsMoved: false,
  recordsOutsideWindow: 0,
  shortPages: 0,
  repeatedPages: 0,
  sameKeysAsPrevious: null,
  keySetDigest: 'a',
  contentDigest: 'b',
  unchanged: false,
};

test.each<{ what: string; change: Partial<WalkFacts>; signs: ChangeSign[] }>([
  { what: 'a clean walk', change: {}, signs: [] },
  { what: 'an empty listing without pages', change: { ...empty(), totalPages: 0 }, signs: [] },
  { what: 'an empty listing of one page', change: { ...empty(), totalPages: 1 }, signs: [] },
  {
    what: 'a walk that stopped early',
    change: { pages: 2, records: 200, distinctKeys: 200 },
    signs: ['pages_missing', 'records_missing'],
  },
  { what: 'totals that differ between pages', change: { totalsMoved: true }, signs: ['totals_moved'] },
  {
    what: 'a record repeated and so another missed',
    change: { distinctKeys: 249 },
    signs: ['records_repeated', 'records_missing'],
  },
  { what: 'fewer records than announced', change: { records: 249, distinctKeys: 249 }, signs: ['records_missing'] },
  { what: 'more records than announced', change: { records: 251, distinctKeys: 251 }, signs: ['records_missing'] },
  {
    what: 'a record outside the window',
    change: { recordsOutsideWindow: 1, distinctKeys: 249 },
    signs: ['outside_window', 'records_missing'],
  },
  { what: 'a short page before the last', change: { shortPages: 1 }, signs: ['short_page'] },
  { what: 'a page that came twice', change: { repeatedPages: 1 }, signs: ['page_repeated'] },
])('$what shows $signs', ({ change, signs }) => {
  expect(findChangeSigns({ ...CLEAN, ...change })).toEqual(signs);
});

test('a walk with any sign is `moved`, whatever the consistency and the walk before', () => {
  fc.assert(
    fc.property(anyFacts(), consistency(), fc.boolean(), (facts, wanted, previousWasClean) => {
      const { verdict, signs } = judgeWalk(facts, wanted, previousWasClean);
      expect(verdict === 'moved').toBe(signs.length > 0);
      expect(signs).toEqual(findChangeSigns(facts));
    }),
  );
});

test('only a walk that counted every announced record exactly once is ever accepted', () => {
  fc.assert(
    fc.property(anyFacts(), consistency(), fc.boolean(), (facts, wanted, previousWasClean) => {
      fc.pre(judgeWalk(facts, wanted, previousWasClean).verdict === 'accepted');
      expect(facts.records).toBe(facts.totalRecords);
      expect(facts.distinctKeys).toBe(facts.totalRecords);
      expect(facts.pages).toBe(Math.max(1, facts.totalPages));
    }),
  );
});

test.each([
  { wanted: 'twice', pages: 3, same: null, previousWasClean: false, verdict: 'unconfirmed' },
  { wanted: 'twice', pages: 3, same: false, previousWasClean: true, verdict: 'unconfirmed' },
  { wanted: 'twice', pages: 3, same: true, previousWasClean: false, verdict: 'unconfirmed' },
  { wanted: 'twice', pages: 3, same: true, previousWasClean: true, verdict: 'accepted' },
  { wanted: 'twice', pages: 500, same: null, previousWasClean: false, verdict: 'unconfirmed' },
  { wanted: 'counted', pages: 3, same: null, previousWasClean: false, verdict: 'accepted' },
  { wanted: 'counted', pages: 500, same: false, previousWasClean: false, verdict: 'accepted' },
  { wanted: 'auto', pages: 50, same: null, previousWasClean: false, verdict: 'unconfirmed' },
  { wanted: 'auto', pages: 50, same: true, previousWasClean: true, verdict: 'accepted' },
  { wanted: 'auto', pages: 51, same: null, previousWasClean: false, verdict: 'accepted' },
] as const)('$wanted, $pages clean pages, same keys $same after a clean walk $previousWasClean: $verdict', (row) => {
  const facts = { ...CLEAN, pages: row.pages, totalPages: row.pages, sameKeysAsPrevious: row.same };
  expect(judgeWalk(facts, row.wanted, row.previousWasClean).verdict).toBe(row.verdict);
});

function empty(): Partial<WalkFacts> {
  return { pages: 1, records: 0, distinctKeys: 0, totalRecords: 0 };
}

function consistency() {
  return fc.constantFrom('auto', 'twice', 'counted');
}

/** Facts near a clean walk, so that clean ones turn up often. */
function anyFacts(): fc.Arbitrary<WalkFacts> {
  const seldom = fc.constantFrom(0, 0, 0, 0, 0, 0, 1);
  return fc
    .record({
      records: fc.constantFrom(250, 250, 250, 249),
      repeated: seldom,
      totalRecords: fc.constantFrom(250, 250, 250, 251),
      pages: fc.constantFrom(3, 3, 3, 2),
      totalsMoved: fc.constantFrom(false, false, false, true),
      recordsOutsideWindow: seldom,
      shortPages: seldom,
      repeatedPages: seldom,
      sameKeysAsPrevious: fc.constantFrom(null, true, false),
    })
    .map(({ repeated, ...change }) => ({ ...CLEAN, ...change, distinctKeys: change.records - repeated }));
}
