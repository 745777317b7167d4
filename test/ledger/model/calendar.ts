/** Months by the UTC calendar, worked out without the program's own period helpers. */

export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

export function monthOf(epochMs: number): string {
  return iso(epochMs).slice(0, 7);
}

/** From the first millisecond of the month to the first of the next. */
export function monthSpan(month: string): { startMs: number; endMs: number } {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return { startMs: Date.UTC(year, number - 1, 1), endMs: Date.UTC(year, number, 1) };
}

export function monthAfter(month: string): string {
  return monthOf(monthSpan(month).endMs);
}

/** Whether the first of two ISO-8601 times is the later one. */
export function isLater(time: string, than: string): boolean {
  return Date.parse(time) > Date.parse(than);
}
