import { DAY_MS } from '../../core/durations.ts';

// cspell:ignore dmyhs

/**
 * The ids of the built-in number formats that show dates or times (ECMA-376 part 1, 18.8.30). Of the ids 27 to 58, some
 * do so only in Asian languages.
 */
const DATE_FORMAT_IDS: readonly [from: number, to: number][] = [
  [14, 22],
  [27, 36],
  [45, 47],
  [50, 58],
];

/**
 * Reports whether a number format shows a date or a time. `code` is the format code if the workbook defines the format
 * itself; undefined for a built-in format.
 */
export function isDateFormat(id: number, code: string | undefined): boolean {
  if (code === undefined) return DATE_FORMAT_IDS.some(([from, to]) => from <= id && id <= to);
  const shown = code
    .replace(/"[^"]*"/g, '')
    .replace(/[\\_*]./g, '')
    .replace(/\[(?!(?:h+|m+|s+)\])[^\]]*\]/gi, '')
    .replace(/general/gi, '');
  return /[dmyhs]/i.test(shown);
}

/**
 * The day from which date numbers of 61 or more are counted. Excel counts a day 29 February 1900 that did not exist, so
 * smaller numbers are counted from the next day.
 */
const EPOCH_1900_MS = Date.UTC(1899, 11, 30);
const FIRST_SERIAL_AFTER_LEAP_BUG = 61;
const DAYS_FROM_1900_TO_1904 = 1462;
const MAX_SERIAL = 2_958_466;

/**
 * Converts a workbook's date number, a count of days, to an ISO date, a time, or both. Returns null for a number that
 * is not a date, such as a negative one.
 */
export function isoOfSerial(serial: number, is1904: boolean): string | null {
  const days = is1904 ? serial + DAYS_FROM_1900_TO_1904 : serial;
  if (!(days >= 0 && days < MAX_SERIAL)) return null;
  const shift = days < FIRST_SERIAL_AFTER_LEAP_BUG - 1 ? 1 : 0;
  const iso = new Date(EPOCH_1900_MS + Math.round((days + shift) * (DAY_MS / 1000)) * 1000).toISOString();
  const [date = '', time = ''] = iso.slice(0, 19).split('T');
  if (days < 1) return time;
  return time === '00:00:00' ? date : `${date}T${time}`;
}
