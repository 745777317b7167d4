import { type Past, sum, usedBetween } from './past.ts';
import type { Regime } from './regime.ts';
import { type Week, weightOf } from './week.ts';

/** Days by which it is judged whether a subject's months repeat. */
const FIT_DAYS = 35;
/** The same day of the month before is so much nearer than the weekday. */
const NEARER = 0.85;
const LATEST_DAYS = 10;
/** Days at a new rate that are left out of that: in their month before it was another. */
const MOST_SINCE = 14;
/** The latest days are at most so many times those of the month before, or such a part of them, unless their rate has changed. */
const MOST_TIMES = 4;

/**
 * What is used in the rest of the month when it repeats one of the two before it, the lower one, at the level of the latest days. Null where
 * the weekdays of a subject foretell it better than the days of its months.
 */
export function restByMonth({ days, elapsed, lengths, rests }: Past, week: Week, regime: Regime): number | null {
  const [, before, earlier] = lengths;
  const since = regime.days <= MOST_SINCE ? regime.days : 0;
  let byWeek = 0;
  let byMonth = 0;
  for (let day = since; day < since + FIT_DAYS; day += 1) {
    const then = days[day + (elapsed - day > 0.5 ? before : earlier)];
    if (then === undefined) return null;
    const first = Math.max(since, day - 14);
    const around = days.slice(first, first + 28);
    const used = days[day] ?? 0;
    byWeek += (used - (sum(around) / around.length) * weightOf(week, day)) ** 2;
    byMonth += (used - then) ** 2;
  }
  if (byMonth >= byWeek * NEARER) return null;
  const latest = Math.min(LATEST_DAYS, elapsed, since === 0 ? LATEST_DAYS : Math.max(2, since));
  const most = since === 0 ? MOST_TIMES : Number.POSITIVE_INFINITY;
  const likely = [before, before + earlier].flatMap((ago, month) => {
    const rest = rests[month] ?? null;
    if (rest === null || ago + latest > days.length) return [];
    const then = usedBetween(days, ago, ago + latest);
    const times = then <= 0 ? 1 : usedBetween(days, 0, latest) / then;
    return rest * Math.min(most, Math.max(1 / most, times));
  });
  return likely.length === 0 ? null : Math.min(...likely);
}
