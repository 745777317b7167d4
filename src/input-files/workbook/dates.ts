import { DAY_MS } from '../../core/durations.ts';

// cspell:ignore dmyhs

/** Number formats with these ids are dates or times (ECMA-376 part 1, 18.8.30); those from 27 to 58 in languages of Asia. */
const DATE_FORMAT_IDS: readonly [from: number, to: number][] = [
  [14, 22],
  [27, 36],
  [45, 47],
  [50, 58],
];

/** Reports whether a number format shows a date or a time. `code` is that of a custom format of the workbook. */
export function isDateFormat(id: number, code: string | undefined): boolean {
  if (code === undefined) return DATE_FORMAT_IDS.some(([from, to]) => from <= id && id <= to);
  const shown = code
    .replace(/"[^"]*"/g, '')
    .replace(/[\\_*]./g, '')
    .replace(/\[(?!(?:h+|m+|s+)\])[^\]]*\]/gi, '')
    .replace(/general/gi, '');
  return /[dmyhs]/i.test(shown);
}

/** Day 0 of serials from 61 on: Excel counts a 29 February 1900 that never was, so earlier ones begin a day later. */
const EPOCH_1900_MS = Date.UTC(1899, 11, 30);
const FIRST_SERIAL_AFTER_LEAP_BUG = 61;
const DAYS_FROM_1900_TO_1904 = 1462;
const MAX_SERIAL = 2_958_466;

/** A serial of days as ISO date, time, or both; null for one that is no date, such as a negative one. */
export function isoOfSerial(serial: number, is1904: boolean): string | null {
  const days = is1904 ? serial + DAYS_FROM_1900_TO_1904 : serial;
  if (!(days >= 0 && days < MAX_SERIAL)) return null;
  const shift = days < FIRST_SERIAL_AFTER_LEAP_BUG - 1 ? 1 : 0;
  const iso = new Date(EPOCH_1900_MS + Math.round((days + shift) * (DAY_MS / 1000)) * 1000).toISOString();
  const [date = '', time = ''] = iso.slice(0, 19).split('T');
  if (days < 1) return time;
  return time === '00:00:00' ? date : `${date}T${time}`;
}
