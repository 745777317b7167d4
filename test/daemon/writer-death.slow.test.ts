import { expect, test } from 'vitest';
import { daemonFolder, ONE_TICK } from '../support/daemon-folder.ts';
import { startCommand } from '../support/daemon-process.ts';
import { MORTAL_WRITER, sandboxOf } from './mortal-daemon.ts';

test('a daemon with a dead writer reports it and exits with 1 at once', async () => {
  const daemon = startCommand(daemonFolder(await sandboxOf(), ONE_TICK), 'daemon', MORTAL_WRITER);
  await daemon.line('run applied');

  const killedAt = performance.now();
  daemon.child.kill('SIGUSR2');

  expect(await daemon.exit()).toBe(1);
  // An end that waits for the writer takes as long as pm2 would wait.
  expect(performance.now() - killedAt).toBeLessThan(12_000);
  const line = await daemon.line("the ledger's writer has died");
  expect(line).toMatchObject({ level: 'fatal', code: 'writer_closed' });
});
