import { onTestFinished } from 'vitest';
import type { Sandbox } from '../../src/sandbox/server.ts';
import type { FaultMatcher } from '../../src/sandbox/world/faults.ts';

/** Keeps the service's next answer, of those that are meant, until `release`. */
export function holdAnswer({ faults }: Sandbox, when: FaultMatcher = {}): { reached: Promise<void>; release(): void } {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  onTestFinished(() => released.resolve());
  const run = (): Promise<void> => {
    reached.resolve();
    return released.promise;
  };
  faults.push({ when, action: { type: 'before', run } });
  return { reached: reached.promise, release: released.resolve };
}
