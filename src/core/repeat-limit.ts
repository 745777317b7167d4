import { type Clock, systemClock } from './clock.ts';

/**
 * The number of different texts that are tracked. Beyond it the oldest is dropped, and is written again when it
 * returns.
 */
const MAX_TRACKED_TEXTS = 200;

/**
 * Limits repeated lines. The first is written immediately, later ones at most once per period with the number of lines
 * that were dropped. Texts that differ only in digits count as equal.
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
