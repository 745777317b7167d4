import { type Clock, systemClock } from './clock.ts';

/** Resolves to true when `work` settles, either way, within `ms`; to false when the time is over first. */
export function settlesWithin(work: Promise<unknown>, ms: number, clock: Clock = systemClock): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => resolve(false));
    const settled = (): void => {
      cancel();
      resolve(true);
    };
    work.then(settled, settled);
  });
}

/** The result of `work`, or an error after `ms`; the work itself goes on, and a late failure of it is nobody's. */
export function within<T>(work: Promise<T>, ms: number, clock: Clock = systemClock): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new Error(`no answer within ${ms} ms`)));
    work.then(resolve, reject).finally(cancel);
  });
}

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
