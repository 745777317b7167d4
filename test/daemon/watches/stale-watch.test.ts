import { expect, onTestFinished, test } from 'vitest';
import type { StaleCheck } from '../../../src/alerts/evaluate-system.ts';
import { createLogger } from '../../../src/core/logger.ts';
import type { PeriodicTask } from '../../../src/core/periodic-task.ts';
import { startStaleWatch } from '../../../src/daemon/watches/stale-watch.ts';
import { testClock } from '../../support/time/test-clock.ts';

const STALE: StaleCheck = { workspaceId: 'ws-1', sinceMs: 2, staleAfterMs: 1 };

test('stale workspaces raise alerts, and deliveries wake only if notifications are due', async () => {
  const seen: string[] = [];
  const answers = [1, 0];
  const watch = start({
    stale: () => [STALE],
    raise: async ([workspace]) => {
      seen.push(`raise ${workspace?.workspaceId}`);
      return answers.shift() ?? 0;
    },
    wakeDeliveries: () => void seen.push('wake'),
  });
  await watch.run();
  await watch.run();
  await watch.run();

  expect(seen).toEqual(['raise ws-1', 'wake', 'raise ws-1']);
});

test('a workspace that is stale in a single check raises no alert, as after a suspend', async () => {
  const looks = [['ws-1'], ['ws-2'], [], ['ws-2'], ['ws-1', 'ws-2'], ['ws-1', 'ws-2']];
  const raised: string[][] = [];
  const watch = start({
    stale: () => (looks.shift() ?? []).map((workspaceId) => ({ ...STALE, workspaceId })),
    raise: async (workspaces) => raised.push(workspaces.map(({ workspaceId }) => workspaceId)),
  });
  for (let look = 0; look < 6; look += 1) await watch.run();
  expect(raised).toEqual([['ws-2'], ['ws-1', 'ws-2']]);
});

test('nothing is written while no workspace is stale, and an unreadable ledger does not crash', async () => {
  const raised: unknown[] = [];
  const raise = async (workspaces: StaleCheck[]) => raised.push(workspaces);
  const stale = () => {
    throw new Error('the disk is gone');
  };
  for (const options of [{ stale: () => [] }, { stale }]) {
    const watch = start({ ...options, raise });
    await watch.run();
    await watch.run();
  }

  expect(raised).toEqual([]);
});

function start(options: Partial<Parameters<typeof startStaleWatch>[0]>): PeriodicTask {
  const watch = startStaleWatch({
    stale: () => [],
    raise: async () => 0,
    wakeDeliveries: () => undefined,
    clock: testClock(),
    logger: createLogger({ level: 'silent' }),
    ...options,
  });
  onTestFinished(() => watch.stop());
  return watch;
}
