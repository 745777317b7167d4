export interface OneAtATime<T> {
  run(): Promise<T>;
  /** Work that begins after this call: behind that under way, one for all who ask meanwhile. */
  again(): Promise<T>;
  /** Resolves when what is under way has ended, either way. */
  rest(): Promise<void>;
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
  const rest = async (): Promise<void> => {
    await running?.catch(() => undefined);
  };
  return {
    run,
    again() {
      if (running === null) return run();
      next ??= rest().then(() => {
        next = null;
        return run();
      });
      return next;
    },
    rest,
  };
}

/** Gives what `make` gives, which is asked once for each key. */
export function onceEach<K, V>(make: (key: K) => V): (key: K) => V {
  const made = new Map<K, V>();
  return (key) => {
    if (!made.has(key)) made.set(key, make(key));
    return made.get(key) as V;
  };
}

/** Gives what `make` gives, which is asked when it is first needed. */
export function once<V>(make: () => V): () => V {
  const made = onceEach((_: null) => make());
  return () => made(null);
}
