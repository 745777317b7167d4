import { Cron } from 'croner';

/** Parses a cron expression in UTC. `5/20` means `5-59/20`. Throws on an invalid expression. */
const parseCron = (cron: string): Cron => new Cron(cron, { utcOffset: 0, sloppyRanges: true, paused: true });

/** Yields the times after `afterMs` that match a cron expression (UTC), in milliseconds since the epoch. */
export function* timesAfter(cron: string, afterMs: number): Generator<number, undefined> {
  const expression = parseCron(cron);
  for (let time = expression.nextRun(new Date(afterMs)); time !== null; time = expression.nextRun(time))
    yield time.getTime();
}

/** Returns the latest time at or before `nowMs` that matches a cron expression (UTC), or null if there is none. */
export function latestTime(cron: string, nowMs: number): number | null {
  // `previousRuns` excludes its date, and a match lasts a whole second, so the search starts at the next second.
  const [latest] = parseCron(cron).previousRuns(1, new Date((Math.floor(nowMs / 1000) + 1) * 1000));
  return latest?.getTime() ?? null;
}
