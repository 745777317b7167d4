export interface OneAtATime<T> {
  /** Starts the work and returns its result. During a run, returns the result of that run and starts nothing. */
  run(): Promise<T>;
  /**
   * Runs the work again after the current run. If there is no current run, starts the work now. All calls during one
   * run share the next run.
   */
  rerun(): Promise<T>;
  /** Resolves when the current run has succeeded or failed. Resolves at once if there is no current run. */
  waitUntilIdle(): Promise<void>;
}

/** Wraps `work` so that no two runs of it overlap. */
export function oneAtATime<T>(work: () => Promise<T>): OneAtATime<T> {
  let running: Promise<T> | null = null;
  let next: Promise<T> | null = null;
  const run = (): Promise<T> => {
    running ??= work().finally(() => {
      running = null;
    });
    return running;
  };
  const waitUntilIdle = async (): Promise<void> => {
    await running?.catch(() => undefined);
  };
  return {
    run,
    rerun() {
      if (running === null) return run();
      next ??= waitUntilIdle().then(() => {
        next = null;
        return run();
      });
      return next;
    },
    waitUntilIdle,
  };
}

/** Wraps `make` so that it is called once per key. Later calls return the stored value. */
export function oncePerKey<K, V>(make: (key: K) => V): (key: K) => V {
  const values = new Map<K, V>();
  return (key) => {
    if (!values.has(key)) values.set(key, make(key));
    return values.get(key) as V;
  };
}

/** Wraps `make` so that it is called only on first use. Later calls return the stored value. */
export function once<V>(make: () => V): () => V {
  const get = oncePerKey((_: null) => make());
  return () => get(null);
}
