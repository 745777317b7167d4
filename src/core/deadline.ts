import { type Clock, systemClock } from './clock.ts';

/** Resolves to true if `work` resolves or rejects within `ms`, otherwise to false. */
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

/**
 * Resolves to the result of `work`, or rejects if that takes longer than `ms`. The work itself continues after the
 * timeout, and its later failure is ignored.
 */
export function withTimeout<T>(work: Promise<T>, ms: number, clock: Clock = systemClock): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new Error(`no answer within ${ms} ms`)));
    work.then(resolve, reject).finally(cancel);
  });
}
