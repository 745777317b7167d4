import { type Clock, systemClock } from './clock.ts';

/**
 * At most this many texts are remembered. One more replaces the oldest; the next occurrence of the oldest text is then
 * written at once.
 */
const MAX_TRACKED_TEXTS = 200;

/**
 * Limits how often the same text is written, for example to the log. Calls `write` at once for the first occurrence of
 * a text, and at most once per period for its repetitions. `droppedCount` is the number of occurrences that were
 * dropped since the last call. Texts that differ only in digits count as the same text.
 */
export type RepeatLimit = (text: string, write: (droppedCount: number) => void) => void;

export function createRepeatLimit(periodMs = 60_000, clock: Pick<Clock, 'monotonic'> = systemClock): RepeatLimit {
  const seen = new Map<string, { writtenMs: number; droppedCount: number }>();
  return (text, write) => {
    const key = text.replace(/\d+/g, '#');
    const known = seen.get(key);
    const nowMs = clock.monotonic();
    if (known !== undefined && nowMs - known.writtenMs < periodMs) {
      known.droppedCount += 1;
      return;
    }
    seen.delete(key);
    seen.set(key, { writtenMs: nowMs, droppedCount: 0 });
    const [oldest] = seen.keys();
    if (seen.size > MAX_TRACKED_TEXTS && oldest !== undefined) seen.delete(oldest);
    write(known?.droppedCount ?? 0);
  };
}
