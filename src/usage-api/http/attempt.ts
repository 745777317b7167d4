/** What ends one attempt early: an AbortSignal in small, at a tenth of its cost. */
export class Attempt {
  /** Null while it goes on. */
  reason: Error | null = null;
  #listeners: ((reason: Error) => void)[] = [];

  end(reason: Error): void {
    if (this.reason !== null) return;
    this.reason = reason;
    for (const listener of this.#listeners) listener(reason);
    this.#listeners = [];
  }

  /** Calls the listener once the attempt is ended, at once when it is already. */
  whenEnded(listener: (reason: Error) => void): void {
    if (this.reason !== null) listener(this.reason);
    else this.#listeners.push(listener);
  }
}

interface Watch {
  listener: () => void;
  cancels: Set<() => void>;
}

const watches = new WeakMap<AbortSignal, Watch>();

/**
 * Calls `cancel` when the signal aborts, at once when it has. One signal ends all pages of a walk, so all that wait for
 * one share a listener: adding and removing one costs as much as signing a request.
 */
export function watchAbort(signal: AbortSignal, cancel: () => void): void {
  if (signal.aborted) {
    cancel();
    return;
  }
  const known = watches.get(signal);
  if (known !== undefined) {
    known.cancels.add(cancel);
    return;
  }
  const cancels = new Set([cancel]);
  const listener = () => {
    for (const each of cancels) each();
  };
  watches.set(signal, { listener, cancels });
  signal.addEventListener('abort', listener, { once: true });
}

/** Ends what `watchAbort` began; the last one takes the listener away. */
export function unwatchAbort(signal: AbortSignal, cancel: () => void): void {
  const watch = watches.get(signal);
  if (watch === undefined) return;
  watch.cancels.delete(cancel);
  if (watch.cancels.size > 0) return;
  signal.removeEventListener('abort', watch.listener);
  watches.delete(signal);
}
