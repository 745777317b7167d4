import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createScanner, isRight, items, page, pageOf, parse, scan, style } from './scanned-pages.ts';

const RECORD =
  '{"tenant_id":"a","period":"2026-01","period_start":"2026-01-01T00:00:00Z","period_end":"2026-01-31T00:00:00Z","credits_used":1,"request_count":2}';

describe('PageScanner', () => {
  test('returns the same page as the parser for any order of members and any white space', () => {
    const scanner = createScanner();
    fc.assert(
      fc.property(items, style, (records, how) => {
        const body = pageOf(records, how);
        const seen = scan(scanner, body);
        expect(seen).not.toBeNull();
        expect(seen).toEqual(parse(body));
      }),
      { numRuns: 500 },
    );
  });

  test('returns null for records outside data.usage', () => {
    const scanner = createScanner();
    const scanned = (usage: string) => scan(scanner, page(usage));
    expect(scanned(`"usage":[${RECORD}]`)?.records).toHaveLength(1);
    expect(scanned(`"more":{"usage":[${RECORD}]},"usage":[]`)).toBeNull();
    expect(scanned(`"usage":[${RECORD}],"usage":[]`)).toBeNull();
    expect(scanned(`"usage":[],"usage":[${RECORD}]`)).toBeNull();
    expect(scanned(`"usage":[${RECORD}],"more":{"usage":[${RECORD}]}`)?.records).toHaveLength(1);
    expect(scan(scanner, page(`"usage":[${RECORD}]`, 'ws-2'))).toBeNull();
  });
});

test('the bytes around the records are remembered only for the same ids and the same bytes', () => {
  const scanner = createScanner();
  const body = page(`"usage":[${RECORD}]`);
  const said = (text: Uint8Array, workspaceId = 'ws-1') => scanner.scan(text, { page: 1, workspaceId })?.totalRecords;
  const edited = (from: string, to: string) => Buffer.from(Buffer.from(body).toString().replace(from, to));
  expect([said(body), said(body, 'ws-2'), said(body)]).toEqual([1, undefined, 1]);
  expect(said(edited('"total_records":1', '"total_records":5'))).toBe(5);
  expect([said(edited('"success":true', '"success":null')), said(body)]).toEqual([undefined, 1]);
});

test('the first pages of a process are left to the parser', () => {
  const scanner = createScanner(2);
  const seen = [1, 2, 3].map(() => scan(scanner, page(`"usage":[${RECORD}]`))?.records.length);
  expect(seen).toEqual([undefined, undefined, 1]);
});

describe('a page with an unusual second record is left to the parser, valid or not', () => {
  test.each([
    ['"a"', '""'],
    ['"a"', `"${'a'.repeat(1025)}"`],
    ['"a"', '"\\u0061"'],
    ['"a"', '"é"'],
    ['"a"', '"a\tb"'],
    ['"a"', '7'],
    [':1,', ':1234567890123456,'],
    [':1,', ':01,'],
    [':1,', ':-0,'],
    [':1,', ':-,'],
    [':1,', ':1.0,'],
    [':1,', ':1e3,'],
    [':1,', ':"1",'],
    [',"period"', '{"period"'],
    [',"period"', ' ,"period"'],
    [',"period"', ',"more":1,"period"'],
    [',"period"', ',"period":"2026-01","period"'],
    ['2026-01-31', '2026-02-31'],
    ['2026-01-31', '2026-03-31'],
    ['"2026-01"', '"2026-13"'],
    ['"2026-01"', '"1"'],
    ['{"tenant_id"', '["tenant_id"'],
    ['}', ''],
    ['}', ']'],
  ])('%s as %s', (from, to) => {
    const scanner = createScanner();
    const [first, second] = [RECORD, RECORD.replace(from, to)];
    expect(scan(scanner, page(`"usage":[${first},${RECORD}]`))?.records).toHaveLength(2);
    for (const usage of [
      `${first},${second}`,
      `${first};${first}`,
      second,
      `${first}${second}`,
      `${first},`,
      `,${first}`,
      `\v${first}`,
    ]) {
      expect([
        usage,
        scan(scanner, page(`"usage":[${usage}]`)) !== null && !isRight(page(`"usage":[${usage}]`)),
      ]).toEqual([usage, false]);
    }
    expect(scan(scanner, page(`"usage":[${first},${second}]`))).toBeNull();
  });
});
