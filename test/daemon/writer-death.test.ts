import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { periodAt } from '../../src/core/period.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { startCommand } from '../support/daemon-process.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const MORTAL_WRITER = ['--require', fileURLToPath(new URL('../support/mortal-writer.cjs', import.meta.url))];

test('a daemon whose writer dies says so and exits with 1 at once', async () => {
  const daemon = startCommand(configured(await sandboxOf()), 'daemon', MORTAL_WRITER);
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
  const sync = startCommand(configured(sandbox), 'sync', MORTAL_WRITER);
  await eventually(() => expect(sandbox.requests.records.length).toBeGreaterThan(0));

  const killedAt = performance.now();
  sync.child.kill('SIGUSR2');

  expect(await sync.exit()).toBe(1);
  // Waiting for the answer takes as long as a request may.
  expect(performance.now() - killedAt).toBeLessThan(15_000);
});

async function sandboxOf(): Promise<Sandbox> {
  const period = periodAt(Date.now());
  const usage = [{ tenant_id: 'acme', period, credits_used: 10_000, request_count: 100 }];
  const sandbox = await startSandbox({
    scenario: { workspaces: [{ id: 'ws-1', api_key_id: 'ak_1', secret_key: 'sk_of_this_test', usage }] },
  });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

/** A folder with a configuration whose only tick is the one that is due at the start. */
function configured({ url }: Sandbox): string {
  const folder = temporaryFolder();
  writeFileSync(
    join(folder, 'usage-ledger.yml'),
    `http: { port: 0 }
workspaces:
  - id: ws-1
    name: One
    base_url: ${url}
    embed_url: ${url}
    api_key_id: ak_1
    secret_key: sk_of_this_test
    cron: "0 0 1 1 *"
    reconcile_cron: "0 0 1 1 *"
`,
    { mode: 0o600 },
  );
  return folder;
}
