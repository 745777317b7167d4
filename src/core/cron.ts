import { Cron } from 'croner';

/** In UTC, which needs no time zones; `5/20` is `5-59/20`. Throws on what cannot be read. */
const read = (cron: string): Cron => new Cron(cron, { utcOffset: 0, sloppyRanges: true, paused: true });

/** The times after `afterMs` that a cron expression (UTC) names, in milliseconds since the epoch. */
export function* timesAfter(cron: string, afterMs: number): Generator<number, undefined> {
  const expression = read(cron);
  for (let time = expression.nextRun(new Date(afterMs)); time !== null; time = expression.nextRun(time))
    yield time.getTime();
}

/** The latest time that a cron expression (UTC) names and that is not after `nowMs`; null when there never was one. */
export function latestTime(cron: string, nowMs: number): number | null {
  // What is looked for lies strictly before its date, and a time lasts from its second on.
  const [latest] = read(cron).previousRuns(1, new Date((Math.floor(nowMs / 1000) + 1) * 1000));
  return latest?.getTime() ?? null;
}
