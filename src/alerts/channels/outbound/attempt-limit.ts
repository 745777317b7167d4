/** Aborts on the caller's signal or after the timeout, whichever comes first; `release` leaves no timer or listener. */
export function attemptLimit(outer: AbortSignal, timeoutMs: number): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = setTimeout(abort, timeoutMs);
  outer.addEventListener('abort', abort, { once: true });
  if (outer.aborted) abort();
  const release = () => {
    clearTimeout(timer);
    outer.removeEventListener('abort', abort);
  };
  return { signal: controller.signal, release };
}
