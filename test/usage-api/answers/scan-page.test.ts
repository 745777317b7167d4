import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseUsagePage } from '../../../src/usage-api/answers/check-page.ts';
import { PageScanner } from '../../../src/usage-api/answers/scan-page.ts';

const WHERE = { page: 7, workspaceId: 'ws-1' };

interface Item {
  tenant_id: string;
  period: string;
  period_start: string;
  period_end: string;
  credits_used: number;
  request_count: number;
}

const month = fc.constantFrom(
  ['2025-12', '2025-12-01T00:00:00Z', '2025-12-31T23:59:59Z'],
  ['2026-01', '2026-01-01T00:00:00Z', '2026-01-31T23:59:59Z'],
  ['2026-01', '2026-01-01T00:00:00', '2026-02-01T00:00:00'],
  ['2036-01', '2036-01-01T00:00:00+02:00', '2036-01-31T23:59:59.999Z'],
);
const figure = fc.oneof(fc.nat(100_000), fc.integer({ min: -9999, max: -1 }), fc.nat(999_999_999_999_999));
const item = fc.record({ id: fc.stringMatching(/^[ !#-[\]-~]{1,30}$/), month, credits: figure, requests: figure }).map(
  ({ id, month: [period, start, end], credits, requests }): Item => ({
    tenant_id: id,
    period: period ?? '',
    period_start: start ?? '',
    period_end: end ?? '',
    credits_used: credits,
    request_count: requests,
  }),
);
const items = fc.array(item, { minLength: 1, maxLength: 12 });
const MEMBERS = ['tenant_id', 'period', 'period_start', 'period_end', 'credits_used', 'request_count'];
/** Services differ in the order of members and in the space between tokens. */
const style = fc.record({
  order: fc.oneof(fc.constant(MEMBERS), fc.shuffledSubarray(MEMBERS, { minLength: MEMBERS.length })),
  space: fc.constantFrom('', ' ', '\n  ', '\t'),
  usageFirst: fc.boolean(),
});

const RECORD =
  '{"tenant_id":"a","period":"2026-01","period_start":"2026-01-01T00:00:00Z","period_end":"2026-01-31T00:00:00Z","credits_used":1,"request_count":2}';

function page(usage: string, workspace = 'ws-1'): Uint8Array {
  const text = `{"success":true,"data":{"workspace_id":"${workspace}",${usage},"total_records":1,"total_pages":1}}`;
  return new TextEncoder().encode(text);
}

describe('a page that is scanned', () => {
  test('says what parsing it says, however its service orders members and sets space', () => {
    const scanner = new PageScanner();
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

  test('is left to the parser, or says the same, whatever bytes have been changed', () => {
    const scanner = new PageScanner();
    const met = { same: 0, left: 0, wrong: 0 };
    const edit = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      cut: fc.nat(3),
      put: fc.constantFrom(
        '',
        '"',
        '\\',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '0',
        '1',
        '9',
        '-',
        '.',
        'e',
        ' ',
        '\u0000',
        'é',
        '\ufeff',
        '\v',
        '"usage":[',
        '"period":"2026-01",',
      ),
      rests: fc.boolean(),
    });
    fc.assert(
      fc.property(items, style, fc.array(edit, { minLength: 1, maxLength: 2 }), (records, how, edits) => {
        let text = new TextDecoder().decode(pageOf(records, how));
        for (const { at, cut, put, rests } of edits) {
          const from = Math.floor(at * text.length);
          text = `${text.slice(0, from)}${put}${rests ? text.slice(from) : text.slice(from + cut)}`;
        }
        const body = new TextEncoder().encode(text);
        const seen = scan(scanner, body);
        if (seen !== null) expect(seen).toEqual(parse(body));
        met[seen !== null ? 'same' : isRight(body) ? 'left' : 'wrong'] += 1;
      }),
      { numRuns: 20_000 },
    );
    expect(Math.min(met.same, met.left, met.wrong), JSON.stringify(met)).toBeGreaterThan(200);
  });

  test('is not one whose records stand elsewhere than in data.usage', () => {
    const scanner = new PageScanner();
    const scanned = (usage: string) => scan(scanner, page(usage));
    expect(scanned(`"usage":[${RECORD}]`)?.records).toHaveLength(1);
    expect(scanned(`"more":{"usage":[${RECORD}]},"usage":[]`)).toBeNull();
    expect(scanned(`"usage":[${RECORD}],"usage":[]`)).toBeNull();
    expect(scanned(`"usage":[],"usage":[${RECORD}]`)).toBeNull();
    expect(scanned(`"usage":[${RECORD}],"more":{"usage":[${RECORD}]}`)?.records).toHaveLength(1);
    expect(scan(scanner, page(`"usage":[${RECORD}]`, 'ws-2'))).toBeNull();
  });
});

test('what stands around the records is remembered for those who asked, and as it stood', () => {
  const scanner = new PageScanner();
  const body = page(`"usage":[${RECORD}]`);
  const said = (text: Uint8Array, workspaceId = 'ws-1') => scanner.scan(text, { page: 1, workspaceId })?.totalRecords;
  const edited = (from: string, to: string) => Buffer.from(Buffer.from(body).toString().replace(from, to));
  expect([said(body), said(body, 'ws-2'), said(body)]).toEqual([1, undefined, 1]);
  expect(said(edited('"total_records":1', '"total_records":5'))).toBe(5);
  expect([said(edited('"success":true', '"success":null')), said(body)]).toEqual([undefined, 1]);
});

test('the first pages of a process are left to the parser', () => {
  const scanner = new PageScanner(2);
  const seen = [1, 2, 3].map(() => scan(scanner, page(`"usage":[${RECORD}]`))?.records.length);
  expect(seen).toEqual([undefined, undefined, 1]);
});

describe('of two records the second is left to the parser, right or wrong', () => {
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
    const scanner = new PageScanner();
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

interface Read {
  records: (string | number | bigint)[][];
  totals: [number, number];
}

function scan(scanner: PageScanner, body: Uint8Array): Read | null {
  const page = scanner.scan(body, WHERE);
  if (page === null) return null;
  const { idStarts, idEnds, periods, credits, requests } = page;
  const records = Array.from({ length: page.records }, (_, at) => [
    new TextDecoder().decode(body.subarray(idStarts[at], idEnds[at])),
    periods[at] ?? '',
    credits[at] ?? 0,
    requests[at] ?? 0,
  ]);
  return { records, totals: [page.totalRecords, page.totalPages] };
}

function parse(body: Uint8Array): Read {
  const { usage, total_records, total_pages } = parseUsagePage(body, WHERE);
  const records = usage.map((one) => [one.tenant_id, one.period, one.credits_used, one.request_count]);
  return { records, totals: [total_records, total_pages] };
}

function isRight(body: Uint8Array): boolean {
  try {
    parse(body);
    return true;
  } catch {
    return false;
  }
}

function pageOf(
  records: readonly Item[],
  { order, space, usageFirst }: { order: string[]; space: string; usageFirst: boolean },
): Uint8Array {
  const member = (name: string, text: string) => `"${name}":${space}${text}`;
  const comma = `${space},${space}`;
  const usage = records.map((record) => {
    const members = order.map((name) => member(name, JSON.stringify(record[name as keyof Item])));
    return `{${space}${members.join(comma)}${space}}`;
  });
  const rest = [member('workspace_id', '"ws-1"'), member('total_records', '12'), member('total_pages', '3')];
  const listed = member('usage', `[${space}${usage.join(comma)}${space}]`);
  const data = usageFirst ? [listed, ...rest] : [...rest, listed];
  const text = `{"success":true,"message":"Usage é","data":{${data.join(comma)}}}`;
  return new TextEncoder().encode(text);
}
