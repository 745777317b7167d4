const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?(?:([Zz])|([+-])(\d{2}):?(\d{2})?)?$/;

/**
 * Parses an ISO-8601 date-time into milliseconds since the epoch. Returns null if the text is malformed or names a time
 * that does not exist. A date-time without a zone is UTC, as in the examples of the API specification. Fractions below
 * a millisecond are cut off.
 */
export function parseDateTime(text: string): number | null {
  const match = DATE_TIME.exec(text);
  if (match === null) return null;
  const [year, month, day, hour, minute] = match.slice(1, 6).map(Number) as [number, number, number, number, number];
  const second = Number(match[6] ?? 0);
  const milli = Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'));
  const offsetHours = Number(match[10] ?? 0);
  const offsetMinutes = Number(match[11] ?? 0);
  if (hour > 23 || minute > 59 || second > 59 || offsetHours > 23 || offsetMinutes > 59) return null;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // `Date` converts a day that does not exist, such as 30 February, into a day of the next month.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  date.setUTCHours(hour, minute, second, milli);
  const offsetMs = (offsetHours * 60 + offsetMinutes) * 60_000;
  return date.getTime() - (match[9] === '-' ? -offsetMs : offsetMs);
}

/** Formats an ISO-8601 UTC time to the minute, for people: `2026-03-16 08:00`. */
export function formatMinute(at: string): string {
  return at.slice(0, 16).replace('T', ' ');
}
