import { expect, test } from 'vitest';
import { daemonFolder, ONE_TICK } from '../support/daemon-folder.ts';
import { startCommand } from '../support/daemon-process.ts';
import { eventually } from '../support/eventually.ts';
import { MORTAL_WRITER, sandboxOf } from './mortal-daemon.ts';

test('a sync with a dead writer exits with 1 at once while the service hangs', async () => {
  const sandbox = await sandboxOf();
  sandbox.faults.push({ action: { type: 'delay', delayMs: 60_000 } });
  const sync = startCommand(daemonFolder(sandbox, ONE_TICK), 'sync', MORTAL_WRITER);
  await eventually(() => expect(sandbox.requests.records.length).toBeGreaterThan(0));

  const killedAt = performance.now();
  sync.child.kill('SIGUSR2');

  expect(await sync.exit()).toBe(1);
  // Waiting for the answer takes as long as a request may.
  expect(performance.now() - killedAt).toBeLessThan(15_000);
});
