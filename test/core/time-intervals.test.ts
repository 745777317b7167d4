import { expect, test } from 'vitest';
import { ALWAYS, activeUntilMs, checkIntervals, formatIntervals, isActiveAt } from '../../src/core/time-intervals.ts';

const at = (text: string): number => Date.parse(text);
const END = at('2027-01-01T00:00:00Z');
const until = (times: Partial<typeof ALWAYS>, text: string): string | null => {
  const untilMs = activeUntilMs({ ...ALWAYS, ...times }, at(text), END);
  return untilMs === null ? null : new Date(untilMs).toISOString();
};

test('without days and hours it applies until its end', () => {
  expect(until({}, '2026-03-20T12:00:00Z')).toBe('2027-01-01T00:00:00.000Z');
});

test('on days of the week it applies from midnight to midnight in its time zone', () => {
  const weekend = { weekdays: 'sat-sun', timeZone: 'Europe/Berlin' };
  // Saturday begins in Berlin an hour before it does in UTC.
  expect(until(weekend, '2026-03-20T22:59:59Z')).toBeNull();
  expect(until(weekend, '2026-03-20T23:00:00Z')).toBe('2026-03-22T23:00:00.000Z');
  // The night from 28 to 29 March has an hour less.
  expect(until(weekend, '2026-03-28T12:00:00Z')).toBe('2026-03-29T22:00:00.000Z');
  expect(until(weekend, '2026-03-29T22:00:00Z')).toBeNull();
});

test('hours over midnight belong to the day on which they begin', () => {
  const night = { weekdays: 'fri', hours: '22:00-06:00' };
  // 20 March 2026 is a Friday.
  expect(until(night, '2026-03-20T05:00:00Z')).toBeNull();
  expect(until(night, '2026-03-20T21:59:59Z')).toBeNull();
  expect(until(night, '2026-03-20T22:00:00Z')).toBe('2026-03-21T06:00:00.000Z');
  expect(until(night, '2026-03-21T05:59:59Z')).toBe('2026-03-21T06:00:00.000Z');
  expect(until(night, '2026-03-21T06:00:00Z')).toBeNull();
  expect(until(night, '2026-03-21T23:00:00Z')).toBeNull();
});

test('days of a month may be counted from its end', () => {
  const closing = { daysOfMonth: '1-3,last', hours: '08:00-24:00' };
  expect(until(closing, '2026-02-28T09:00:00Z')).toBe('2026-03-01T00:00:00.000Z');
  expect(until(closing, '2028-02-28T09:00:00Z')).toBeNull();
  expect(until(closing, '2026-03-03T09:00:00Z')).toBe('2026-03-04T00:00:00.000Z');
  expect(until(closing, '2026-03-04T09:00:00Z')).toBeNull();
  expect(isActiveAt({ ...ALWAYS, ...closing }, at('2026-03-31T07:59:00Z'))).toBe(false);
  expect(isActiveAt({ ...ALWAYS, ...closing }, at('2026-03-31T08:00:00Z'))).toBe(true);
});

test('it ends at its end, and one that repeats daily is evaluated again', () => {
  expect(until({ weekdays: 'mon-sun' }, '2026-12-31T12:00:00Z')).toBe('2027-01-01T00:00:00.000Z');
  expect(until({ weekdays: 'mon-sun' }, '2026-03-01T12:00:00Z')).toBe('2026-04-05T12:00:00.000Z');
});

test.each([
  [{ weekdays: 'saturday' }, 'weekdays "saturday" cannot be understood'],
  [{ weekdays: 'sun-mon' }, 'weekdays "sun-mon" cannot be understood'],
  [{ hours: '8-17' }, 'hours "8-17" cannot be understood'],
  [{ hours: '22:00-24:30' }, 'hours "22:00-24:30" cannot be understood'],
  [{ hours: '25:00-26:00' }, 'hours "25:00-26:00" cannot be understood'],
  [{ daysOfMonth: '0' }, 'days_of_month "0" cannot be understood'],
  [{ daysOfMonth: '3-1' }, 'days_of_month "3-1" cannot be understood'],
  [{ daysOfMonth: '' }, 'days_of_month "" cannot be understood'],
  [{ timeZone: 'Mars/Base' }, 'time_zone "Mars/Base" is not known'],
])('%o is refused', (times, message) => {
  expect(() => checkIntervals({ ...ALWAYS, ...times })).toThrow(message);
});

test('it is described in words', () => {
  expect(formatIntervals(ALWAYS)).toBe('');
  const times = { weekdays: 'sat,sun', hours: '22:00-06:00', daysOfMonth: '1-7', timeZone: 'Europe/Berlin' };
  expect(formatIntervals(times)).toBe(' on sat,sun, days 1-7, 22:00-06:00 (Europe/Berlin)');
});
