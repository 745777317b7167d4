// Node's modules for this are loaded when there is something to do: most commands have little to forget.

let collect: (() => void) | null = null;

/**
 * Collects the garbage of this thread now, some 10 ms for 100 MB. V8 waits for more of it than a machine may have room for:
 * what a walk of thousands of pages leaves behind would lie beside what the merge needs.
 */
export function collectGarbage(): void {
  if (collect === null) {
    process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
    collect = process.getBuiltinModule('node:vm').runInNewContext('gc') as () => void;
  }
  collect();
}

/**
 * For work that passes many short-lived values through: what is read and forgotten is collected before much of it lies about.
 * Not at a start: loading code with a young generation that never grows takes a tenth longer.
 */
export function keepYoungGenerationSmall(): void {
  process.getBuiltinModule('node:v8').setFlagsFromString('--semi-space-growth-factor=1');
}
