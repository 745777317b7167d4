import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | null = null;

/**
 * Collects the garbage of this thread now, some 10 ms for 100 MB. V8 waits for more of it than a machine may have room for:
 * what a walk of thousands of pages leaves behind would lie beside what the merge needs.
 */
export function collectGarbage(): void {
  if (collect === null) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  collect();
}
