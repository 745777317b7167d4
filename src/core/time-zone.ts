import { MINUTE_MS } from './durations.ts';

export const UTC = 'UTC';

/** Reports whether this Node knows an IANA time zone of this name. Offsets such as `+01:00` are not names. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    wallClock(name);
    return true;
  } catch {
    return false;
  }
}

const wallClocks = new Map<string, Intl.DateTimeFormat>();

/**
 * Returns a formatter of the local time of a zone. Formatters are cached because creating one is slow. Throws for an
 * unknown zone.
 */
function wallClock(timezone: string): Intl.DateTimeFormat {
  const known = wallClocks.get(timezone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', { ...CLOCK_PARTS, timeZone: timezone });
  wallClocks.set(timezone, format);
  return format;
}

const CLOCK_PARTS = {
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
} as const;

/**
 * Returns the local time of a zone, to the minute, as if it were a UTC time: at 09:00 in Berlin, returns the
 * milliseconds since the epoch of 09:00 UTC on that day.
 */
export function wallClockMs(atMs: number, timezone: string): number {
  if (timezone === UTC) return atMs - (atMs % MINUTE_MS);
  const parts = Object.fromEntries(
    wallClock(timezone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, Number(value)]),
  );
  return Date.UTC(parts.year ?? 0, (parts.month ?? 1) - 1, parts.day ?? 1, parts.hour ?? 0, parts.minute ?? 0);
}

/** Formats the offset of a zone from UTC at a moment: `UTC`, `UTC+1`, `UTC-3:30`. */
function formatOffset(atMs: number, timezone: string): string {
  const minutes = Math.round((wallClockMs(atMs, timezone) - (atMs - (atMs % MINUTE_MS))) / MINUTE_MS);
  if (minutes === 0) return 'UTC';
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? '-' : '+'}${hours}${rest === 0 ? '' : `:${String(rest).padStart(2, '0')}`}`;
}

/**
 * Formats an ISO-8601 UTC time to the minute, for people: `2026-03-16 09:00 UTC+1`. The offset distinguishes the two
 * occurrences of an hour that the clock repeats.
 */
export function formatLocalTime(at: string, timezone: string): string {
  const atMs = Date.parse(at);
  const wall = new Date(wallClockMs(atMs, timezone)).toISOString();
  return `${wall.slice(0, 16).replace('T', ' ')} ${formatOffset(atMs, timezone)}`;
}

/** Returns the day in a time zone at an ISO-8601 UTC time: `2026-03-16`. */
export function localDay(at: string, timezone: string): string {
  return new Date(wallClockMs(Date.parse(at), timezone)).toISOString().slice(0, 10);
}
