import { type Cancel, type Clock, every } from '../core/clock.ts';

const LOOK_INTERVAL_MS = 1_000;
/** Clocks are slewed by less; a machine that slept for less has missed little. */
const NOTABLE_MS = 30_000;

/**
 * Calls the listener within a second after the wall clock has jumped: it was set, or the machine slept. Returns what ends
 * the watch.
 */
export function watchClockJumps(clock: Clock, onJump: (jumpMs: number) => void): Cancel {
  const offset = (): number => clock.now() - clock.monotonic();
  let known = offset();
  return every(clock, LOOK_INTERVAL_MS, () => {
    const jumpMs = offset() - known;
    known += jumpMs;
    if (Math.abs(jumpMs) > NOTABLE_MS) onJump(jumpMs);
  });
}
