export interface OneAtATime<T> {
  run(): Promise<T>;
  /** Runs the work once more after the current run. All callers that ask during the current run share that one run. */
  rerun(): Promise<T>;
  /** Resolves when the current run has ended, also when it failed. */
  waitUntilIdle(): Promise<void>;
}

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

/** Wraps `make` so that it is called on first use only. */
export function once<V>(make: () => V): () => V {
  const get = oncePerKey((_: null) => make());
  return () => get(null);
}
