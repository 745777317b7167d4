import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { addPeriods, periodAt } from '../../../src/core/period.ts';
import { verifyLedger } from '../../../src/ledger/audit/verify/verify.ts';
import { openForWriting } from '../../../src/ledger/store/file/open.ts';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { startReceiver } from '../../alerts/channels/receiver.ts';
import { freePort } from '../../queue/support.ts';
import { daemonFolder } from '../../support/daemon-folder.ts';
import { startDaemonProcess } from '../../support/daemon-process.ts';
import { eventually } from '../../support/eventually.ts';
import { viewLedger } from '../../support/ledger-view.ts';
import { messages, pendingMessages } from '../../support/messages.ts';
import { Random } from '../../support/random.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { startMortalRedis } from './redis-server.ts';

const KILLS = Number(process.env.STACK_KILLS ?? 300);
const SEED = Number(process.env.FAULT_SEED ?? 1);
const WORKSPACES = ['ws-0', 'ws-1', 'ws-2', 'ws-3'];
const TENANTS = Array.from({ length: 40 }, (_, tenant) => `tenant-${tenant}`);
/** A listing takes some two seconds, so that most kills hit one. */
const PAGE_MS = 150;
const LONGEST_LIFE_MS = 3_000;

test(`a daemon that is killed ${KILLS} times at any moment, and its Redis with it now and then, shows no run by halves and loses nothing`, async () => {
  const random = new Random(SEED);
  const folder = temporaryFolder();
  const month = periodAt(Date.now());
  const earlier = [1, 2, 3].map((ago) => addPeriods(month, -ago));
  const redis = await startMortalRedis(await freePort());
  onTestFinished(() => redis.kill());
  const received = new Set<string>();
  const receiver = await startReceiver((response) => {
    received.add(String(receiver.received.at(-1)?.headers['webhook-id']));
    response.end();
  });
  onTestFinished(receiver.close);
  const accounts = WORKSPACES.map((id) => ({ id, api_key_id: `ak_${id}`, secret_key: `sk_${id}_not_a_secret` }));
  // After half of the kills all have jumped against the month before.
  const usage = [month, ...earlier].flatMap((period) =>
    TENANTS.map((tenant_id) => ({
      ...{ tenant_id, period, request_count: 10 },
      credits_used: period === month ? 1_000 : 1_000 * Math.ceil(KILLS / 3),
    })),
  );
  const sandbox = await startSandbox({
    scenario: { workspaces: accounts.map((account) => ({ ...account, usage })) },
    keepRequests: 0,
  });
  onTestFinished(() => sandbox.close());
  sandbox.faults.push({ times: Number.POSITIVE_INFINITY, action: { type: 'delay', delayMs: PAGE_MS } });
  const secret = `whsec_${Buffer.alloc(32, 'not a secret ').toString('base64')}`;
  daemonFolder(
    sandbox,
    {
      redis_url: redis.url,
      defaults: { cron: '* * * * *', per_page: 5, concurrency: 1 },
      alerts: { channels: [{ name: 'hook', type: 'webhook', url: receiver.url, secret, allow_private: true }] },
    },
    folder,
  );

  let version = 1_000;
  const shown = new Map<string, number>();
  const path = join(folder, 'data', 'ledger.db');
  /** All figures of a workspace are of one run, and never of an older one than before. */
  const look = (what: string): void => {
    const view = viewLedger(path);
    for (const { workspace_id, least, most, tenants } of view.rows(
      `SELECT workspace_id, min(credits_used) AS least, max(credits_used) AS most, count(*) AS tenants
       FROM finance_usage WHERE period = ? GROUP BY 1`,
      month,
    )) {
      const id = String(workspace_id);
      expect([least, Number(tenants)], `${what}: ${id} is whole`).toEqual([most, TENANTS.length]);
      expect(Number(least), `${what}: ${id} does not go back`).toBeGreaterThanOrEqual(shown.get(id) ?? 0);
      expect(Number(least), `${what}: ${id} says what its service has said`).toBeLessThanOrEqual(version);
      shown.set(id, Number(least));
    }
    view.close();
  };

  // The first sync tells nobody.
  const first = startDaemonProcess(folder);
  await first.line('ready', 60_000);
  await eventually(() => {
    look('at the beginning');
    expect(shown.size).toBe(WORKSPACES.length);
  }, 60_000);
  first.child.kill('SIGTERM');
  expect(await first.exit()).toBe(0);

  let cutOff = 0;
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const what = `kill ${kill} of seed ${SEED}`;
    const daemon = startDaemonProcess(folder);
    // Some die before they are ready.
    if (random.chance(0.8)) await daemon.line('ready', 60_000);
    await sleep(random.below(LONGEST_LIFE_MS));
    daemon.child.kill('SIGKILL');
    expect(await daemon.exit(), what).toBe('SIGKILL');
    if (random.chance(0.1)) {
      await redis.kill();
      await redis.start();
    }
    look(what);
    const view = viewLedger(path);
    if (view.value("SELECT count(*) FROM runs WHERE status = 'running'") !== 0n) cutOff += 1;
    view.close();
    version += 1_000;
    for (const id of WORKSPACES)
      for (const tenantId of TENANTS)
        sandbox.workspace(id).set({ tenantId, period: month, credits: version, requests: 10 });
  }
  expect(cutOff).toBeGreaterThan(KILLS / 5);

  const daemon = startDaemonProcess(folder);
  await eventually(() => {
    look('at the end');
    expect([...shown.values()]).toEqual(WORKSPACES.map(() => version));
    expect(pendingMessages(path)).toEqual([]);
  }, 300_000);
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);
  expect(viewLedger(path).rows("SELECT run_id FROM runs WHERE status = 'running'")).toEqual([]);
  const connection = openForWriting(path);
  expect(verifyLedger(connection).faults).toEqual([]);
  connection.close();
  const delivered = messages(path).filter(({ state }) => state === 'delivered');
  expect(delivered.length).toBeGreaterThan(0);
  expect(delivered.filter(({ id }) => !received.has(id))).toEqual([]);
  process.stdout.write(`${JSON.stringify({ kills: KILLS, cutOff, messages: received.size })}\n`);
}, 7_200_000);
