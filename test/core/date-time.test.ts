import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDateTime } from '../../src/core/date-time.ts';

describe('reading an ISO-8601 date-time', () => {
  it.each([
    ['2026-02-01T00:00:00', '2026-02-01T00:00:00.000Z'],
    ['2026-02-28T23:59:59Z', '2026-02-28T23:59:59.000Z'],
    ['2026-02-28T23:59:59.123456+02:00', '2026-02-28T21:59:59.123Z'],
    ['2026-02-28T23:59:59-0530', '2026-03-01T05:29:59.000Z'],
    ['2024-02-29T00:00', '2024-02-29T00:00:00.000Z'],
  ])('takes %s for %s', (text, expected) => {
    expect(new Date(parseDateTime(text) ?? 0).toISOString()).toBe(expected);
  });

  it.each([
    '2026-02-29T00:00:00',
    '2026-13-01T00:00:00',
    '2026-00-01T00:00:00',
    '2026-01-01T24:00:00',
    '2026-01-01',
    'now',
    '',
  ])('refuses %j', (text) => {
    expect(parseDateTime(text)).toBeNull();
  });

  it('reads back every instant that Date writes', () => {
    const dates = fc.date({
      min: new Date('0000-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(dates, (date) => {
        expect(parseDateTime(date.toISOString())).toBe(date.getTime());
      }),
    );
  });
});
