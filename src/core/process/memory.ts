// `node:v8` and `node:vm` are loaded on first use, because most commands never need them.

let runGarbageCollector: (() => void) | null = null;

/**
 * Collects this thread's garbage now, which takes about 10 ms for 100 MB. Without this call, V8 may wait until a small
 * machine runs out of memory: the garbage of reading thousands of pages would still be there when the run is applied.
 */
export function collectGarbage(): void {
  if (runGarbageCollector === null) {
    process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
    runGarbageCollector = process.getBuiltinModule('node:vm').runInNewContext('gc') as () => void;
  }
  runGarbageCollector();
}

/**
 * Keeps V8's young generation small, for work that creates many short-lived values, so that garbage is collected early.
 * Do not call it at start-up: loading code would take a tenth longer.
 */
export function keepYoungGenerationSmall(): void {
  process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1');
}
