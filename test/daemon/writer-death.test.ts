import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { periodAt } from '../../src/core/period.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { daemonFolder, ONE_TICK, startService } from '../support/daemon-folder.ts';
import { startCommand } from '../support/daemon-process.ts';
import { eventually } from '../support/eventually.ts';

const MORTAL_WRITER = ['--require', fileURLToPath(new URL('../support/mortal-writer.cjs', import.meta.url))];

test('a daemon whose writer dies says so and exits with 1 at once', async () => {
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

test('a sync whose writer dies while the service hangs fails with 1 at once', async () => {
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

function sandboxOf(): Promise<Sandbox> {
  const period = periodAt(Date.now());
  return startService({ usage: [{ tenant_id: 'acme', period, credits_used: 10_000, request_count: 100 }] });
}
