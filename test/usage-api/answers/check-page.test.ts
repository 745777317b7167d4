import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parseUsagePage } from '../../../src/usage-api/answers/check-page.ts';
import { mayHoldLongNumber } from '../../../src/usage-api/answers/parse-json.ts';
import { InvalidResponseError } from '../../../src/usage-api/errors.ts';
import { thrownBy } from '../../support/rejection.ts';
import { item, type Loose, page } from '../service-double.ts';

const WHERE = { page: 7, workspaceId: 'ws-1' };
const encode = (text: string) => new TextEncoder().encode(text);
const parse = (value: unknown, where: Parameters<typeof parseUsagePage>[1] = WHERE) =>
  parseUsagePage(encode(typeof value === 'string' ? value : JSON.stringify(value)), where);

/** A page of one item whose credits are written as this text. */
const withCredits = (numeral: string) => JSON.stringify(page([item({ credits_used: '@' })])).replace('"@"', numeral);
const creditsOf = (numeral: string) => parse(withCredits(numeral)).usage[0]?.credits_used;

describe('parsing a usage page', () => {
  it("returns the items with the service's field names", () => {
    expect(parse(page([item()]))).toEqual({
      workspace_id: 'ws-1',
      usage: [item()],
      total_records: 1,
      total_pages: 1,
    });
  });

  it.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['9007199254740993', 9007199254740993n],
    ['-9007199254740993', -9007199254740993n],
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775807', -9223372036854775807n],
    ['9.007199254740993e15', 9007199254740993n],
    ['123456789e10', 1234567890000000000n],
    ['1.0', 1],
    ['1e3', 1000],
    ['5.00000000000000000', 5],
    ['-3', -3],
    ['0', 0],
  ])('reads the integer %s exactly', (numeral, expected) => {
    expect(creditsOf(numeral)).toBe(expected);
  });

  it.each([
    ['9223372036854775808', 'is 9223372036854775808, outside the range ±(2^63-1)'],
    ['-9223372036854775808', 'is -9223372036854775808, outside the range ±(2^63-1)'],
    ['1e400', 'is outside the range ±(2^63-1)'],
    ['1e60', 'is outside the range ±(2^63-1)'],
    ['9'.repeat(1000), 'is outside the range ±(2^63-1)'],
    ['1.5', 'is 1.5, not an integer'],
    ['5.00000000000000001', 'is NaN, not an integer'],
    ['9999999999.0000001', 'is NaN, not an integer'],
    ['999999999999999.01', 'is NaN, not an integer'],
    ['450359962737049.65e1', 'is NaN, not an integer'],
    ['1e-400', 'is NaN, not an integer'],
    ['-12.5E-0400', 'is NaN, not an integer'],
    ['"5"', 'is "5", not an integer'],
    ['null', 'is null, not an integer'],
    ['true', 'is true, not an integer'],
  ])('refuses credits of %s and names the field and the page', (numeral, problem) => {
    expect(() => creditsOf(numeral)).toThrow(
      new InvalidResponseError(`workspace usage: data.usage[0].credits_used ${problem} (page 7)`, {
        endpoint: 'workspace usage',
      }),
    );
  });

  it.each([
    ['data.usage[1].credits_used is missing', page([item(), item({ credits_used: undefined })])],
    ['data.usage[0].request_count is missing', page([item({ request_count: undefined })])],
    ['data.usage[0].tenant_id is missing', page([item({ tenant_id: undefined })])],
    ['data.usage[0].tenant_id is empty', page([item({ tenant_id: '' })])],
    ['data.usage[0].tenant_id is not valid Unicode', page([item({ tenant_id: 'a\ud800' })])],
    ['data.usage[0].tenant_id has 1025 bytes, more than 1024', page([item({ tenant_id: 'x'.repeat(1025) })])],
    ['data.usage[0].tenant_id has 1026 bytes, more than 1024', page([item({ tenant_id: '€'.repeat(342) })])],
    ['data.usage[0].period is "2026-13", not a month', page([item({ period: '2026-13' })])],
    ['data.usage[0].period_start is missing', page([item({ period_start: undefined })])],
    ['data.usage[0].period_end is "2026-02-30T00:00:00", not an', page([item({ period_end: '2026-02-30T00:00:00' })])],
    [
      'data.usage[1].period_start is "2026-02-05T00:00:00", more than a day from 2026-02-01T00:00:00.000Z for 2026-02',
      page([item(), item({ period_start: '2026-02-05T00:00:00' })]),
    ],
    [
      'data.usage[0].period_end is "2026-03-04T23:59:59Z", more than a day from 2026-02-28T23:59:59.000Z for 2026-02',
      page([item({ period_end: '2026-03-04T23:59:59Z' })]),
    ],
    ['data.usage[0] is null, not an object', page([null])],
    ['data.usage is missing', page([], { usage: undefined })],
    ['data.total_records is missing', page([], { total_records: undefined })],
    ['data.total_records is -1, not a count', page([], { total_records: -1 })],
    ['data.total_pages is 1.5, not a count', page([], { total_pages: 1.5 })],
    ['data.workspace_id is "ws-2", but "ws-1" was asked for', page([], { workspace_id: 'ws-2' })],
    ['data.workspace_id is missing', page([], { workspace_id: undefined })],
    ['data is null, not an object', page([], {}, { data: null })],
    ['success is missing', page([], {}, { success: undefined })],
    ['success is "true", not true or false', page([], {}, { success: 'true' })],
    ['success is false: no such thing', page([], {}, { success: false, message: 'no such thing' })],
    ['the response is an array, not an object', []],
    ['the response is not JSON', '<html>'],
    ['the response is not JSON', ''],
  ])('says %s', (problem, body) => {
    expect(() => parse(body)).toThrow(`workspace usage: ${problem}`);
    expect(() => parse(body)).toThrow('(page 7)');
    expect(() => parse(body)).toThrow(InvalidResponseError);
  });

  it('names the remedy when the service bills by other months', () => {
    expect(thrownBy(() => parse(page([item({ period: '2026-01' })])))).toMatchObject({
      message: expect.stringContaining('period_start'),
      hint: expect.stringContaining('calendar month'),
    });
  });

  it.each([
    ['in another zone', '2026-02-01T00:00:00+14:00', '2026-02-28T23:59:59+14:00'],
    ['behind UTC', '2026-02-01T00:00:00-12:00', '2026-02-28T23:59:59-12:00'],
    ['with an end that is not in it', '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z'],
    ['with the last day as its end', '2026-02-01T00:00:00', '2026-02-28T00:00'],
  ])('takes the bounds of a month %s', (_, period_start, period_end) => {
    expect(parse(page([item({ period_start, period_end })])).usage).toHaveLength(1);
  });

  it('accepts tenant ids up to 1,024 bytes', () => {
    const ids = ['x'.repeat(1024), '€'.repeat(341)];
    expect(parse(page(ids.map((tenant_id) => item({ tenant_id })))).usage.map((row) => row.tenant_id)).toEqual(ids);
  });

  it('omits the page number from an error if there is none', () => {
    expect(() => parse('[]', { ...WHERE, page: null })).toThrow(/an object$/);
  });

  it('does not quote a response that is not JSON', () => {
    for (const body of ['sk_live_secret', '{"a":1234567890123456 sk_live_secret']) {
      const error = thrownBy(() => parse(body));
      expect(error).toBeInstanceOf(InvalidResponseError);
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('sk_live');
    }
  });

  it('rejects bytes that are not UTF-8', () => {
    const body = encode(JSON.stringify(page([item({ tenant_id: 'X' })])));
    body[body.indexOf('X'.charCodeAt(0))] = 0xff;
    expect(() => parseUsagePage(body, WHERE)).toThrow('the response is not valid UTF-8 (page 7)');
  });

  it('requires the requested tenant in the page and in every item', () => {
    const where = { ...WHERE, tenantId: 't-1' };
    expect(parse(page([item()], { tenant_id: 't-1' }), where).tenant_id).toBe('t-1');
    expect(() => parse(page([item()]), where)).toThrow('tenant usage: data.tenant_id is missing');
    expect(() => parse(page([item()], { tenant_id: 't-2' }), where)).toThrow('"t-2", but "t-1" was asked for');
    expect(() => parse(page([item({ tenant_id: 't-2' })], { tenant_id: 't-1' }), where)).toThrow(
      'data.usage[0].tenant_id is "t-2", but "t-1" was asked for',
    );
  });

  it('ignores unknown fields in the envelope, the data and every item', () => {
    const body = page([item({ region: 'eu' }), item({ region: 'us', plan: 1 })], { cursor: null }, { trace: 'x' });
    expect(parse(body)).toMatchObject({ usage: [item(), item()], total_records: 2, total_pages: 1 });
    expect(parse(page([item()], {}, { message: undefined })).usage).toEqual([item()]);
  });

  it('treats a __proto__ key as an unknown field without effect', () => {
    const proto = '"__proto__":{"credits_used":9},';
    const text = JSON.stringify(page([item({ credits_used: undefined })])).replace(
      '"tenant_id"',
      `${proto}"tenant_id"`,
    );
    expect(() => parse(text)).toThrow('data.usage[0].credits_used is missing');
    for (const credits of ['5', '9007199254740993']) {
      const good = withCredits(credits).replace('"tenant_id"', `${proto}"tenant_id"`);
      expect(String(parse(good).usage[0]?.credits_used)).toBe(credits);
    }
    expect(({} as Loose).credits_used).toBeUndefined();
  });

  it('distinguishes tenants that differ only in long digits, and parses their pages exactly', () => {
    const ids = ['123456789012345678', '123456789012345679', 'é\u{1F600}'];
    const body = page(ids.map((tenant_id) => item({ tenant_id })));
    expect(parse(body).usage.map((row) => row.tenant_id)).toEqual(ids);
  });

  it('uses the exact parser only for texts that may hold a long number', () => {
    const long = [
      '1234567890123456',
      '-1234567890123456',
      '0.1234567890123456',
      '12345678.901234567',
      '1e1234567890123456',
      '2E-1234567890123456',
    ];
    for (const numeral of long) {
      for (let spaces = 0; spaces < 20; spaces++) {
        expect(mayHoldLongNumber(encode(`{"a":${' '.repeat(spaces)}${numeral}}`))).toBe(true);
        expect(mayHoldLongNumber(encode(`[${numeral},${' '.repeat(spaces)}1]`))).toBe(true);
        expect(mayHoldLongNumber(encode(`${' '.repeat(spaces)}${numeral}`))).toBe(true);
      }
    }
    const short = [
      '123456789012345',
      '12345678.901234',
      '"1234567890123456789"',
      '"tenant-1234567890123456789"',
      '"a.1234567890123456789"',
    ];
    for (const text of short) {
      for (let spaces = 0; spaces < 20; spaces++) {
        expect(mayHoldLongNumber(encode(`[${' '.repeat(spaces)}${text}]`))).toBe(false);
      }
    }
  });

  it('scans a huge run of digits in linear time', () => {
    const digits = '7'.repeat(8_000_000);
    expect(mayHoldLongNumber(encode(`["${digits}"]`))).toBe(false);
    expect(mayHoldLongNumber(encode(`["${digits}", 1234567890123456]`))).toBe(true);
    expect(() => creditsOf(digits)).toThrow('is outside the range ±(2^63-1)');
    expect(() => creditsOf(`1${'0'.repeat(400_000)}1`)).toThrow('is outside the range ±(2^63-1)');
  });
});
