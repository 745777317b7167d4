import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { daemonFolder, ONE_TICK, startService } from '../../support/daemon-folder.ts';
import { startDaemonProcess } from '../../support/daemon-process.ts';

/** The bound of the documentation for a stop. */
const STOP_MAX_MS = 19_000;

test('a daemon whose folders refuse or do not answer reports that, becomes ready, and stops', async () => {
  const folder = daemonFolder(await startService(), {
    ...ONE_TICK,
    backup: { cron: '0 0 1 1 *', folder: '/proc/usage-ledger' },
    exports: [{ name: 'usage', view: 'usage', format: 'csv', cron: '0 0 1 1 *', folder: './exports' }],
  });
  mkdirSync(join(folder, 'exports'));
  // Whoever opens a pipe without a writer waits, like a read from a mount that hangs.
  expect(spawnSync('mkfifo', [join(folder, 'exports', '.usage.export')]).status).toBe(0);
  const daemon = startDaemonProcess(folder);
  await daemon.line('ready');
  expect(await daemon.line('backup failed')).toMatchObject({
    reason: expect.stringContaining('/proc'),
    hint: 'correct `backup.folder`, or the rights of the folder',
  });
  const beganMs = performance.now();
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);
  expect(performance.now() - beganMs).toBeLessThan(STOP_MAX_MS);
});
