import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { startDaemonProcess } from '../../support/daemon-process.ts';
import { viewLedger } from '../../support/ledger-view.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const SIGTERMS = Number(process.env.SIGTERMS ?? 200);
const PAGE_MS = 300;
const OUT_WITHIN_MS = 5_000;

test(`${SIGTERMS} times SIGTERM in the middle of a long listing: out within 5 s after the page, with 0`, async () => {
  const folder = temporaryFolder();
  const workspace = { id: 'ws-1', api_key_id: 'ak_1', secret_key: 'sk_1_not_a_secret' };
  const generate = { seed: 7, tenants: 20_000, months: 3 };
  const sandbox = await startSandbox({ scenario: { workspaces: [{ ...workspace, generate }] }, keepRequests: 0 });
  onTestFinished(() => sandbox.close());
  sandbox.faults.push({ times: Number.POSITIVE_INFINITY, action: { type: 'delay', delayMs: PAGE_MS } });
  writeFileSync(
    join(folder, 'usage-ledger.yml'),
    `http: { port: 0 }
workspaces:
  - { id: ws-1, api_key_id: ak_1, secret_key: ${workspace.secret_key}, base_url: ${sandbox.url}, embed_url: ${sandbox.url}, cron: "* * * * *" }
alerts: { channels: [{ type: log }] }
`,
    { mode: 0o600 },
  );
  const took: number[] = [];
  for (let time = 0; time < SIGTERMS; time += 1) {
    const daemon = startDaemonProcess(folder);
    const before = sandbox.requests.count;
    await daemon.line('ready', 60_000);
    // At another moment each time: before the first page, between two, or with some under way.
    const end = performance.now() + 20_000;
    while (time % 4 !== 0 && sandbox.requests.count === before && performance.now() < end) await sleep(10);
    await sleep((time * 37) % 500);
    const askedMs = performance.now();
    daemon.child.kill('SIGTERM');
    expect(await daemon.exit()).toBe(0);
    took.push(performance.now() - askedMs);
    expect(took.at(-1)).toBeLessThanOrEqual(PAGE_MS + OUT_WITHIN_MS);
  }
  process.stdout.write(`${JSON.stringify({ sigterms: took.length, longestMs: Math.round(Math.max(...took)) })}\n`);
  const published = viewLedger(join(folder, 'data', 'ledger.db')).rows(
    "SELECT 1 FROM finance_runs WHERE status = 'applied'",
  );
  expect(published).toEqual([]);
});
