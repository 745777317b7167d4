import { inertText } from '../core/text/inert-text.ts';
import { counted, withThousands } from '../core/text/words.ts';
import type { WalkFacts } from '../ledger/journal/staging/staging.ts';
import type { RepeatedRecord, WalkFlaws } from '../ledger/journal/staging/walk-flaws.ts';

const MAX_NAMED_RECORDS = 3;
const MAX_NAMED_PAGES = 5;

/**
 * Describes why the records of a walk are not a consistent listing, such as `tenant "acme" is listed twice for 2026-11
 * (page 1)`.
 */
export function describeFlaws(facts: WalkFacts, flaws: WalkFlaws): string {
  const { changedTotals, identicalPages, outside, shortPage, repeated } = flaws;
  const causes: string[] = [];
  if (facts.totalsMoved && changedTotals !== null) causes.push(...totalsText(facts, changedTotals));
  if (identicalPages !== null) causes.push(`pages ${identicalPages[0]} and ${identicalPages[1]} are identical`);
  causes.push(...repeated.slice(0, MAX_NAMED_RECORDS).map(repeatedText));
  const surplus = facts.records - facts.recordsOutsideWindow - facts.distinctKeys;
  if (repeated.length > MAX_NAMED_RECORDS) causes.push(`${counted(surplus, 'record')} in all are repetitions`);
  if (outside !== null) causes.push(`page ${outside.page} has a record for ${outside.period}, which was not requested`);
  if (shortPage !== null) {
    causes.push(`page ${shortPage.page} has ${counted(shortPage.records, 'record')}, page 1 has ${shortPage.fullPage}`);
  }
  // A walk that ended early because of one of the causes above has fewer records than announced, so their number is not
  // reported as another cause.
  const isWhole = facts.pages >= facts.totalPages;
  const records = facts.records - facts.recordsOutsideWindow;
  if (causes.length === 0 || (isWhole && records !== facts.totalRecords)) causes.push(...countText(facts, records));
  return causes.length === 0 ? 'the records changed between the attempts' : causes.join('; ');
}

function totalsText(facts: WalkFacts, changed: NonNullable<WalkFlaws['changedTotals']>): string[] {
  const pairs = [
    ['total_records', facts.totalRecords, changed.totalRecords],
    ['total_pages', facts.totalPages, changed.totalPages],
  ] as const;
  return pairs
    .filter(([, from, to]) => from !== to)
    .map(
      ([name, from, to]) =>
        `${name} changed from ${from} on page ${changed.firstPage} to ${to} on page ${changed.page}`,
    );
}

function countText(facts: WalkFacts, records: number): string[] {
  if (records === facts.totalRecords) return [];
  return [`expected ${counted(facts.totalRecords, 'record')}, got ${withThousands(String(records))}`];
}

function repeatedText({ tenantId, period, pages, isFirstMissing, differs }: RepeatedRecord): string {
  const times = pages.length + (isFirstMissing ? 1 : 0);
  const often = times === 2 ? 'twice' : `${times} times`;
  const figures = differs ? ' with different figures' : '';
  const again = isFirstMissing ? 'again on ' : '';
  return `tenant "${inertText(tenantId)}" is listed ${often} for ${period}${figures} (${again}${pagesText(pages)})`;
}

function pagesText(pages: readonly number[]): string {
  const distinct = [...new Set(pages)].map(String);
  const [only] = distinct;
  if (distinct.length === 1) return `page ${only}`;
  if (distinct.length > MAX_NAMED_PAGES) {
    return `pages ${distinct.slice(0, MAX_NAMED_PAGES).join(', ')} and ${distinct.length - MAX_NAMED_PAGES} more`;
  }
  return `pages ${distinct.slice(0, -1).join(', ')} and ${distinct.at(-1)}`;
}
