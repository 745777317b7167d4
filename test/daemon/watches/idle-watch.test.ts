import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../src/core/logger.ts';
import { startIdleWatch } from '../../../src/daemon/watches/idle-watch.ts';
import { createVirtualClock } from '../../support/time/virtual-clock.ts';

test('an idle process collects garbage once, and again after its next work', async () => {
  const clock = createVirtualClock(0);
  let usedMs = 0;
  let collected = 0;
  const watch = startIdleWatch({
    collect: async () => {
      collected += 1;
      // As much as work takes: what it takes itself is none.
      usedMs += 1_000;
    },
    processorMs: () => usedMs,
    logger: createLogger({ level: 'silent' }),
    clock,
  });
  onTestFinished(() => watch.stop());
  const after = async (workMs: number) => {
    usedMs += workMs;
    await clock.advance(60_000);
    return collected;
  };
  const seen = [];
  for (const workMs of [800, 599, 599, 0, 601, 599, 0]) seen.push(await after(workMs));
  expect(seen).toEqual([0, 1, 1, 1, 1, 2, 2]);
});
