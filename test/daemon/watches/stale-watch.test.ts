import { expect, onTestFinished, test } from 'vitest';
import type { StaleCheck } from '../../../src/alerts/evaluate/evaluate-self.ts';
import { createLogger } from '../../../src/core/logger.ts';
import type { PeriodicTask } from '../../../src/core/periodic-task.ts';
import { startStaleWatch } from '../../../src/daemon/watches/stale-watch.ts';
import { testClock } from '../../support/time/test-clock.ts';

const STALE: StaleCheck = { workspaceId: 'ws-1', sinceMs: 2, staleAfterMs: 1 };

test('stale workspaces are raised, and notifications looked after only when there are any', async () => {
  const seen: string[] = [];
  const answers = [1, 0];
  const watch = start({
    stale: () => [STALE],
    raise: async ([workspace]) => {
      seen.push(`raise ${workspace?.workspaceId}`);
      return answers.shift() ?? 0;
    },
    notified: () => void seen.push('notified'),
  });
  await watch.run();
  await watch.run();

  expect(seen).toEqual(['raise ws-1', 'notified', 'raise ws-1']);
});

test('while none is stale nothing is written, and a ledger that cannot be read is no crash', async () => {
  const raised: unknown[] = [];
  const raise = async (workspaces: StaleCheck[]) => raised.push(workspaces);
  await start({ stale: () => [], raise }).run();
  await start({
    stale: () => {
      throw new Error('the disk is gone');
    },
    raise,
  }).run();

  expect(raised).toEqual([]);
});

function start(options: Partial<Parameters<typeof startStaleWatch>[0]>): PeriodicTask {
  const watch = startStaleWatch({
    stale: () => [],
    raise: async () => 0,
    notified: () => undefined,
    clock: testClock(),
    logger: createLogger({ level: 'silent' }),
    ...options,
  });
  onTestFinished(() => watch.stop());
  return watch;
}
