import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { addPeriods, periodAt } from '../../../src/core/period.ts';
import { openReader } from '../../../src/ledger/store/file/open.ts';
import { ledgerId } from '../../../src/ledger/store/schema/identity.ts';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { addRuns, startReceiver } from '../../publish/world-parts.ts';
import { freePort } from '../../queue/support.ts';
import { startCommand } from '../../support/daemon-process.ts';
import { eventually } from '../../support/eventually.ts';
import { viewLedger } from '../../support/ledger-view.ts';
import { startPostgres } from '../../support/postgres.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { startFailingRedis } from '../outages/redis-server.ts';

const ROUNDS = Number(process.env.REPLICA_ROUNDS ?? 9);
/** Syncs in a row under each condition: the daemon looks every two seconds for something to publish. */
const SYNCS = 3;
const TENANTS = 1_000;
/** Of the medians; beside it some milliseconds that a busy machine takes by itself. */
const MOST_TIMES = 2;
const SLACK_MS = 100;
const STATES = ['well', 'frozen', 'dead', 'absent'] as const;
type State = (typeof STATES)[number];

const current = periodAt(Date.now());

interface Figures {
  syncMs: number[];
  alertMs: number[];
}

test('a Postgres that is frozen, dead or busy slows neither a sync nor an alert', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  const redis = await startFailingRedis(await freePort());
  onTestFinished(() => redis.stop());
  const { port, told } = await startReceiver();
  const usage = [2, 1, 0].flatMap((back) =>
    Array.from({ length: TENANTS }, (_, index) => ({
      ...{ tenant_id: `tenant-${index}`, period: addPeriods(current, -back), request_count: 100 },
      credits_used: back === 0 ? 5_000 : 10_000,
    })),
  );
  const workspace = { id: 'ws-1', api_key_id: 'ak_1', secret_key: 'sk_of_this_test' };
  const sandbox = await startSandbox({ scenario: { workspaces: [{ ...workspace, usage }] }, keepRequests: 0 });
  onTestFinished(() => sandbox.close());
  const root = temporaryFolder();
  const begin = async (name: string, publish: string) => {
    const folder = join(root, name);
    mkdirSync(folder);
    const hook = `{ type: webhook, url: "http://127.0.0.1:${port}/${name}", allow_private: true }`;
    writeFileSync(
      join(folder, 'usage-ledger.yml'),
      `${publish}redis_url: ${redis.url}
http: { port: 0 }
workspaces:
  - { id: ws-1, base_url: "${sandbox.url}", embed_url: "${sandbox.url}", api_key_id: ak_1, secret_key: sk_of_this_test,
      cron: "0 0 1 1 *", reconcile_cron: "0 0 1 1 *", requests_per_second: 1000 }
alerts: { channels: [${hook}] }
`,
      { mode: 0o600 },
    );
    await startCommand(folder, 'daemon').line('run applied', 60_000);
    const path = join(folder, 'data', 'ledger.db');
    const { connection, close } = openReader(path);
    const id = ledgerId(connection);
    close();
    return { name, id, view: viewLedger(path) };
  };
  const publishing = await begin(
    'publishing',
    `publish: { url: "${server.settings('meanwhile').url}", schema: meanwhile }\n`,
  );
  const alone = await begin('alone', '');

  const figures = Object.fromEntries(STATES.map((state) => [state, { syncMs: [], alertMs: [] }])) as unknown as Record<
    State,
    Figures
  >;
  let tenant = 0;
  const sample = async (state: State): Promise<void> => {
    const { name, id, view } = state === 'absent' ? alone : publishing;
    const tenantId = `tenant-${tenant}`;
    tenant += 1;
    sandbox.workspace('ws-1').set({ tenantId, period: current, credits: 90_000, requests: 200 });
    await addRuns({ id, redisUrl: redis.url, workspaceIds: ['ws-1'] });
    let atMs = 0;
    await eventually(() => {
      const found = told.find((one) => one.host === name && one.tenantId === tenantId && one.rule === 'jump');
      expect(found).toBeDefined();
      atMs = found?.atMs ?? 0;
    }, 60_000);
    const [run] = view.rows(
      "SELECT started_at, finished_at FROM finance_runs WHERE status = 'applied' ORDER BY finished_at DESC LIMIT 1",
    );
    const finishedMs = Date.parse(String(run?.finished_at));
    figures[state].syncMs.push(finishedMs - Date.parse(String(run?.started_at)));
    figures[state].alertMs.push(atMs - finishedMs);
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const state of STATES) {
      if (state === 'frozen') server.freeze();
      if (state === 'dead') await server.kill();
      for (let sync = 0; sync < SYNCS; sync += 1) await sample(state);
      if (state === 'frozen') server.thaw();
      if (state === 'dead') await server.start();
    }
  }

  const medians = Object.fromEntries(
    STATES.map((state) => [state, { syncMs: median(figures[state].syncMs), alertMs: median(figures[state].alertMs) }]),
  ) as Record<State, { syncMs: number; alertMs: number }>;
  process.stdout.write(`medians of ${ROUNDS * SYNCS}: ${JSON.stringify(medians)}\n`);
  const { syncMs, alertMs } = medians.absent;
  for (const state of ['well', 'frozen', 'dead'] as const) {
    expect(medians[state].syncMs, `a sync, ${state}`).toBeLessThanOrEqual(syncMs * MOST_TIMES + SLACK_MS);
    expect(medians[state].alertMs, `an alert, ${state}`).toBeLessThanOrEqual(alertMs * MOST_TIMES + SLACK_MS);
  }
  // What has waited follows.
  const client = await server.connect('meanwhile');
  onTestFinished(() => client.close());
  await eventually(async () => {
    const head = publishing.view.value("SELECT count(*) FROM finance_runs WHERE status = 'applied'");
    expect(await client.query('SELECT position FROM ledgers')).toEqual([{ position: head }]);
  }, 6 * 60_000);
});

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
