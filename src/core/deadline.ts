import { type Clock, systemClock } from './clock.ts';

/** Resolves to true if `work` settles (either way) within `ms`, otherwise to false. */
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

/** Resolves to the result of `work`, or rejects after `ms`. The work continues, and its later failure is ignored. */
export function withTimeout<T>(work: Promise<T>, ms: number, clock: Clock = systemClock): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new Error(`no answer within ${ms} ms`)));
    work.then(resolve, reject).finally(cancel);
  });
}

/**
 * Returns a signal that aborts after the timeout or with the caller's signal, whichever is first. `release` removes the
 * timer and the listener.
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
