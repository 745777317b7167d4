const LOOK_INTERVAL_MS = 1_000;
/** Clocks are slewed by less; a machine that slept for less has missed little. */
const NOTABLE_MS = 30_000;

/**
 * Calls the listener within a second after the wall clock has jumped: it was set, or the machine slept. Returns what ends
 * the watch.
 */
export function watchClockJumps(onJump: (jumpMs: number) => void): () => void {
  const offset = (): number => Date.now() - performance.now();
  let known = offset();
  const timer = setInterval(() => {
    const jumpMs = offset() - known;
    known += jumpMs;
    if (Math.abs(jumpMs) > NOTABLE_MS) onJump(jumpMs);
  }, LOOK_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
