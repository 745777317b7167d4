import { CronExpressionParser } from 'cron-parser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dueSlot, latestSlot, tickExpressions } from '../../src/queue/slots.ts';

const at = (iso: string): number => Date.parse(iso);
const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

describe('the latest slot', () => {
  test.each([
    ['*/15 * * * *', '2026-03-01T10:14:59.999Z', '2026-03-01T10:00:00.000Z'],
    ['*/15 * * * *', '2026-03-01T10:15:00.000Z', '2026-03-01T10:15:00.000Z'],
    ['*/15 * * * *', '2026-03-01T10:15:00.001Z', '2026-03-01T10:15:00.000Z'],
    ['17 3 * * 0', '2026-03-01T03:16:59.999Z', '2026-02-22T03:17:00.000Z'],
    ['0 0 29 2 *', '2026-03-01T00:00:00.000Z', '2024-02-29T00:00:00.000Z'],
    ['0 0 1 * 1', '2026-03-04T00:00:00.000Z', '2026-03-02T00:00:00.000Z'],
  ])('of %s at %s is %s', (cron, now, expected) => {
    expect(iso(latestSlot(cron, at(now)))).toBe(expected);
  });

  test('is at 02:30 UTC also on the night when that hour does not exist in Berlin', () => {
    expect(iso(latestSlot('30 2 * * *', at('2026-03-29T12:00:00Z')))).toBe('2026-03-29T02:30:00.000Z');
    expect(iso(latestSlot('30 2 * * *', at('2026-10-25T12:00:00Z')))).toBe('2026-10-25T02:30:00.000Z');
  });

  test('is never after now, is a time that the expression names, and has no other one up to now', () => {
    const crons = ['*/15 * * * *', '17 3 * * 0', '0 0 1 * *', '5,35 6-18 * * 1-5', '0 */7 * * *', '*/10 * * * * *'];
    const times = fc.integer({ min: at('2020-01-01T00:00:00Z'), max: at('2035-01-01T00:00:00Z') });
    fc.assert(
      fc.property(fc.constantFrom(...crons), times, (cron, now) => {
        const slot = latestSlot(cron, now);
        if (slot === null) throw new Error('these have slots');
        const parsed = CronExpressionParser.parse(cron, { tz: 'UTC', currentDate: new Date(slot) });
        expect(slot).toBeLessThanOrEqual(now);
        expect(parsed.includesDate(new Date(slot))).toBe(true);
        expect(parsed.next().getTime()).toBeGreaterThan(now);
        expect(latestSlot(cron, slot)).toBe(slot);
      }),
    );
  });
});

describe('the due slot', () => {
  const now = at('2026-03-01T10:20:00Z');

  test('is the latest one when several were missed', () => {
    expect(dueSlot('*/15 * * * *', '2026-02-20T00:00:00.000Z', now)).toBe('2026-03-01T10:15:00.000Z');
  });

  test('is nothing when the ledger knows the latest one', () => {
    expect(dueSlot('*/15 * * * *', '2026-03-01T10:15:00.000Z', now)).toBeNull();
    expect(dueSlot('*/15 * * * *', '2026-03-01T10:15:00Z', now)).toBeNull();
  });

  test('is there at once for an entry that never ran', () => {
    expect(dueSlot('17 3 * * 0', null, now)).toBe('2026-03-01T03:17:00.000Z');
  });
});

describe('the expressions given to node-cron', () => {
  test('write out what node-cron cannot read', () => {
    expect(tickExpressions('5/20 * * * *')).toEqual(['0 5,25,45 * * * *']);
  });

  test('tick on the day of the month and on the day of the week, where both are given', () => {
    expect(tickExpressions('0 3 1 * 1')).toEqual(['0 0 3 1 * *', '0 0 3 * * 1']);
  });
});
