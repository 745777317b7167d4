import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseUsagePage, type UsagePage } from '../../src/usage-api/answers/check-page.ts';
import { textOf } from '../../src/usage-api/scan-json.ts';
import { PageScanner } from '../../src/usage-api/scan-page.ts';
import { item, type Loose, page } from './service-double.ts';

const WORKSPACE = 'ws-1';
const encode = (text: string) => new TextEncoder().encode(text);
const parsed = (body: Uint8Array): UsagePage => parseUsagePage(body, { page: 7, workspaceId: WORKSPACE });

/** What a scanner reads, as `parseUsagePage` would give it; null where it leaves the page to that. */
function scanned(scanner: PageScanner, body: Uint8Array): UsagePage | null {
  const found = scanner.scan(body, WORKSPACE);
  if (found === null) return null;
  const { total_records, total_pages } = found;
  const usage = Array.from({ length: found.size }, (_, index) => ({
    tenant_id: textOf(body, found.idStarts[index] ?? 0, found.idEnds[index] ?? 0),
    period: found.months[index]?.period ?? '',
    period_start: found.months[index]?.period_start ?? '',
    period_end: found.months[index]?.period_end ?? '',
    credits_used: found.credits[index] ?? Number.NaN,
    request_count: found.requests[index] ?? Number.NaN,
  }));
  return { workspace_id: WORKSPACE, usage, total_records, total_pages, unknownFields: 0 };
}

const count = fc.nat(999_999_999_999_999);
/** Ids of every printable ASCII character but the two that JSON escapes. */
const tenantId = fc.stringMatching(/^[ !#-[\]-~]{1,40}$/);
const month = fc.constantFrom('2026-01', '2026-02', '1999-12');
const date = fc.constantFrom('2026-01-01T00:00:00', '2026-02-01T00:00:00Z', '2026-02-01 00:00+01:00');
const record = fc
  .record({
    tenant_id: tenantId,
    period: month,
    period_start: date,
    period_end: date,
    credits_used: fc.oneof(count, count.map(negated)),
    request_count: count,
  })
  .chain(shuffled);
const listing = fc
  .record({
    message: tenantId,
    success: fc.constant(true),
    data: fc
      .record({
        workspace_id: fc.constant(WORKSPACE),
        usage: fc.array(record, { maxLength: 5 }),
        total_records: count,
        total_pages: count,
      })
      .chain(shuffled),
  })
  .chain(shuffled);
/** The text of a plain page in any order and spacing. */
const plainText = fc
  .tuple(listing, fc.constantFrom<string | number>('', 1, '\t', '\r'))
  .map(([content, space]) => JSON.stringify(content, null, space));

/** Records as services write them: all in one order, of few months, and now and then a figure below zero. */
const uniformText = fc
  .tuple(
    fc.array(
      fc.record({ tenant_id: tenantId, period: month, credits_used: fc.oneof(count, count, count.map(negated)) }),
      {
        maxLength: 8,
      },
    ),
    fc.constantFrom<string | number>('', '', 1),
  )
  .map(([rows, space]) => JSON.stringify(page(rows.map(item)), null, space));

describe('a page scanner', () => {
  it('reads every plain page, and reads it as the parser does', () => {
    const scanner = new PageScanner();
    fc.assert(
      fc.property(plainText, (text) => {
        const body = encode(text);
        expect(scanned(scanner, body)).toEqual(parsed(body));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['of any order', plainText],
    ['of one order', uniformText],
  ])('never reads a page %s otherwise than the parser, whatever has become of its bytes', (_, texts) => {
    const scanner = new PageScanner();
    const bytes = [...'"\\{}[],:-+.eE0123456789 \ntrue/\u007f'].map((character) => character.charCodeAt(0));
    const change = fc.record({ at: fc.nat(), cut: fc.nat(3), put: fc.array(fc.constantFrom(...bytes, 0, 0xc3, 0xbc)) });
    let read = 0;
    fc.assert(
      fc.property(texts, fc.array(change, { minLength: 1, maxLength: 2 }), (text, changes) => {
        // A page that is well-formed first, so that the scanner knows what it may expect of the next.
        expect(scanned(scanner, encode(text))).toEqual(parsed(encode(text)));
        const edited = Array.from(encode(text));
        for (const { at, cut, put } of changes) edited.splice(at % edited.length, cut, ...put.slice(0, 3));
        const body = Uint8Array.from(edited);
        const found = scanned(scanner, body);
        if (found === null) return;
        read += 1;
        expect(found).toEqual(parsed(body));
      }),
      { numRuns: 3000 },
    );
    expect(read).toBeGreaterThan(40);
  });

  it('reads a page that lies in the middle of a larger buffer', () => {
    const body = encode(JSON.stringify(page([item()])));
    const larger = new Uint8Array(body.length + 20).fill(0x31);
    larger.set(body, 7);
    const inside = larger.subarray(7, 7 + body.length);
    expect(scanned(new PageScanner(), inside)).toEqual(parsed(body));
  });

  it('reads records with much space in them, and those that follow', () => {
    const scanner = new PageScanner();
    const plain = JSON.stringify(page([item(), item({ tenant_id: 't-2', credits_used: 9 })]));
    for (const text of [plain, plain.replaceAll('"period":', `"period":${' '.repeat(5_000)}`), plain]) {
      expect(scanned(scanner, encode(text))).toEqual(parsed(encode(text)));
    }
  });

  it('reads pages of more records than any before', () => {
    const scanner = new PageScanner();
    for (const size of [1, 500, 2, 1000]) {
      const records = Array.from({ length: size }, (_, index) =>
        item({ tenant_id: `t-${index}`, credits_used: index }),
      );
      const body = encode(JSON.stringify(page(records)));
      expect(scanned(scanner, body)).toEqual(parsed(body));
    }
  });

  it.each<[string, unknown]>([
    ['an id with an escape', page([item({ tenant_id: 'a"b' })])],
    ['an id beyond ASCII', page([item({ tenant_id: 'müller' })])],
    ['an empty id', page([item({ tenant_id: '' })])],
    ['an id that is a number', page([item({ tenant_id: 5 })])],
    ['a month that is none', page([item({ period: '2026-13' })])],
    ['a date that is none', page([item({ period_end: '2026-02-30T00:00:00' })])],
    ['a number of 16 digits', page([item({ credits_used: 9007199254740991 })])],
    ['a fraction', page([item({ credits_used: 1.5 })])],
    ['a missing field', page([item({ request_count: undefined })])],
    ['a field that nobody knows', page([item({ plan: 'gold' })])],
    ['a failure', { ...(page([item()]) as Loose), success: false }],
    ['another workspace', page([item()], { workspace_id: 'ws-2' })],
    ["one tenant's history", page([item()], { tenant_id: 'tenant-1' })],
    ['a negative total', page([item()], { total_pages: -1 })],
    ['two documents', `${JSON.stringify(page([]))}{}`],
    ['no number', JSON.stringify(page([item({ credits_used: '@' })])).replace('"@"', '')],
    ['a number that begins with 0', JSON.stringify(page([item({ request_count: '@' })])).replace('"@"', '07')],
    ['negative zero', JSON.stringify(page([item({ credits_used: '@' })])).replace('"@"', '-0')],
    ['a key twice', JSON.stringify(page([item()])).replace('"credits_used"', '"request_count"')],
    ['no object', '[]'],
    ['nothing', ''],
  ])('leaves a page with %s to the parser', (_, content) => {
    const body = encode(typeof content === 'string' ? content : JSON.stringify(content));
    const scanner = new PageScanner();
    const plain = encode(JSON.stringify(page([item()])));
    // Also once it knows how a plain record looks.
    for (let round = 0; round < 2; round += 1) {
      expect(scanner.scan(body, WORKSPACE)).toBeNull();
      expect(scanned(scanner, plain)).toEqual(parsed(plain));
    }
  });
});

function negated(number: number): number {
  return number === 0 ? 0 : -number;
}

/** The same fields in any order. */
function shuffled<Content extends object>(content: Content): fc.Arbitrary<Content> {
  const entries = Object.entries(content);
  return fc
    .shuffledSubarray(entries, { minLength: entries.length })
    .map((order) => Object.fromEntries(order) as Content);
}
