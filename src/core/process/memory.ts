// `node:v8` and `node:vm` are loaded on first use, because most commands never need them.

let runGarbageCollector: (() => void) | null = null;

/**
 * Collects this thread's garbage now. This takes about 10 ms for 100 MB. Without this call, V8 may wait until a small
 * machine runs out of memory: the garbage from reading thousands of pages would still be in memory when the run is
 * applied.
 */
export function collectGarbage(): void {
  if (runGarbageCollector === null) {
    process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
    runGarbageCollector = process.getBuiltinModule('node:vm').runInNewContext('gc') as () => void;
  }
  runGarbageCollector();
}

/**
 * Keeps V8's young generation small, so that garbage is collected early. Use it for work that creates many short-lived
 * values. Do not use it at start-up: loading the code would take 10% longer.
 */
export function keepYoungGenerationSmall(): void {
  process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1');
}
