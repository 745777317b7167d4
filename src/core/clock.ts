/** Where the program gets the time from, so that tests can say what time it is. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** ISO-8601 UTC with milliseconds, such as `2026-02-28T23:59:59.000Z`: the form of every time in the ledger. */
export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
