import type { Clock } from '../core/clock.ts';

/**
 * Returns a signal that aborts after the timeout, or earlier if the caller's signal `outer` aborts. Call `release` at
 * the end: it removes the timer and the listener.
 */
export function attemptLimit(
  clock: Clock,
  timeoutMs: number,
  outer?: AbortSignal,
): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const cancel = clock.after(timeoutMs, abort);
  outer?.addEventListener('abort', abort, { once: true });
  if (outer?.aborted) abort();
  const release = () => {
    cancel();
    outer?.removeEventListener('abort', abort);
  };
  return { signal: controller.signal, release };
}
