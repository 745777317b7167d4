import { type Clock, systemClock } from './clock.ts';

/** Texts that are told apart; beyond that the oldest is forgotten, and told again when it comes again. */
const MOST_TEXTS = 200;

/**
 * Limits lines that say the same again and again: the first is written at once, later ones at most one a period, with the
 * number of those that were left out. Digits do not tell texts apart.
 */
export type RepeatLimit = (text: string, write: (leftOut: number) => void) => void;

export function createRepeatLimit(periodMs = 60_000, clock: Pick<Clock, 'monotonic'> = systemClock): RepeatLimit {
  const seen = new Map<string, { writtenMs: number; leftOut: number }>();
  return (text, write) => {
    const key = text.replace(/\d+/g, '#');
    const known = seen.get(key);
    const nowMs = clock.monotonic();
    if (known !== undefined && nowMs - known.writtenMs < periodMs) {
      known.leftOut += 1;
      return;
    }
    seen.delete(key);
    seen.set(key, { writtenMs: nowMs, leftOut: 0 });
    const [oldest] = seen.keys();
    if (seen.size > MOST_TEXTS && oldest !== undefined) seen.delete(oldest);
    write(known?.leftOut ?? 0);
  };
}
