import type { Clock } from './clock.ts';

/** Aborts after the timeout or on the caller's signal, whichever comes first; `release` leaves no timer or listener. */
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
