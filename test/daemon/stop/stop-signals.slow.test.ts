import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { configure, NOWHERE } from '../../support/daemon-folder.ts';
import { startDaemonProcess } from '../../support/daemon-process.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Milliseconds after the process began: it loads its code, opens the ledger, starts Redis. */
const MOMENTS = [60, 250, 450];

test.for(['SIGTERM', 'SIGINT'] as const)('%s ends a daemon with 0 at any moment of its start', async (signal) => {
  const folder = configure(temporaryFolder(), { workspaces: [NOWHERE], http: { port: 0 } });
  for (const ms of MOMENTS) {
    const daemon = startDaemonProcess(folder);
    await sleep(ms);
    daemon.child.kill(signal);
    // Before our first line is read a signal ends any process, and who looks after it calls that clean.
    expect([0, signal]).toContain(await daemon.exit());
  }
  const daemon = startDaemonProcess(folder);
  await daemon.line('private Redis is ready');
  daemon.child.kill(signal);
  await daemon.line('stopped');
  const stoppedMs = performance.now();
  expect(await daemon.exit()).toBe(0);
  // Nothing holds the process once all is let go of, such as a timer of a connection that its server has ended.
  expect(performance.now() - stoppedMs).toBeLessThan(1_000);
});
