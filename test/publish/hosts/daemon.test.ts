import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { evaluateStale } from '../../../src/alerts/evaluate/evaluate-self.ts';
import { routesOf } from '../../../src/alerts/track/routes.ts';
import { main } from '../../../src/commands/main.ts';
import { addPeriods, periodAt } from '../../../src/core/period.ts';
import { openForWriting } from '../../../src/ledger/store/file/open.ts';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { type DaemonProcess, startCommand } from '../../support/daemon-process.ts';
import { eventually } from '../../support/eventually.ts';
import { viewLedger } from '../../support/ledger-view.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { setRoutes } from '../../support/run/real-run.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { awayFromMonthEnd } from '../../support/time/test-clock.ts';

const NOTE_LOADS = fileURLToPath(new URL('note-loads.mjs', import.meta.url));
await awayFromMonthEnd();
const current = periodAt(Date.now());

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

/** A folder with a configuration that reads from a sandbox and, where a schema is named, publishes to it. */
async function configured(schema: string | null, channels = '[{ type: log }]'): Promise<string> {
  const usage = [3, 2, 1, 0].map((back) => ({
    tenant_id: 'acme',
    period: addPeriods(current, -back),
    credits_used: back === 0 ? 90_000 : 10_000,
    request_count: 100,
  }));
  const workspaces = [{ id: 'ws-1', api_key_id: 'ak_1', secret_key: 'sk_of_this_test', usage }];
  const sandbox = await startSandbox({ scenario: { workspaces } });
  onTestFinished(() => sandbox.close());
  const folder = temporaryFolder();
  const publish = schema === null ? '' : `publish: { url: "${server.settings(schema).url}", schema: ${schema} }\n`;
  writeFileSync(
    join(folder, 'usage-ledger.yml'),
    `${publish}http: { port: 0 }
workspaces:
  - { id: ws-1, base_url: ${sandbox.url}, embed_url: ${sandbox.url}, api_key_id: ak_1, secret_key: sk_of_this_test,
      cron: "0 0 1 1 *", reconcile_cron: "0 0 1 1 *" }
alerts:
  channels: ${channels}
`,
    { mode: 0o600 },
  );
  return folder;
}

function start(folder: string): { daemon: DaemonProcess; loads: () => string } {
  const file = join(folder, 'loads');
  const options = ['--import', NOTE_LOADS];
  return {
    daemon: startCommand(folder, 'daemon', options, { LOADS: file }),
    loads: () => (existsSync(file) ? readFileSync(file, 'utf8') : ''),
  };
}

async function answer(folder: string, ...argv: string[]): Promise<{ code: number; out: string }> {
  let out = '';
  const stdout = {
    write(text: string) {
      out += text;
      return true;
    },
  };
  const stderr = { write: () => true };
  const code = await main(argv, { stdout, stderr, env: { PATH: process.env.PATH }, cwd: folder });
  return { code, out };
}

async function command(folder: string, ...argv: string[]): Promise<number> {
  return (await answer(folder, ...argv)).code;
}

/** Something to tell that has not been sent yet. */
function leaveNotification(path: string): void {
  const connection = openForWriting(path);
  setRoutes(connection, routesOf([{ type: 'log', name: 'webhook-1' }]));
  const workspaces = [{ workspaceId: 'ws-1', sinceMs: 1_000_000, staleAfterMs: 1 }];
  const { notificationIds } = evaluateStale(connection, workspaces, Date.now());
  connection.close();
  expect(notificationIds).toHaveLength(1);
}

async function replicaOf(schema: string) {
  const client = await server.connect(schema);
  onTestFinished(() => client.close());
  return client;
}

test('a daemon publishes each run, and what commands write meanwhile', async () => {
  const folder = await configured('by_daemon');
  const { daemon, loads } = start(folder);
  await daemon.line('run applied');
  const client = await replicaOf('by_daemon');
  const position = async () => (await client.query<{ position: bigint }>('SELECT position FROM ledgers'))[0]?.position;
  await eventually(async () => expect(await position()).toBe(1n));
  expect(await command(folder, 'sync')).toBe(0);
  await eventually(async () => {
    expect(await client.query('SELECT kind FROM runs ORDER BY run_key')).toEqual([
      { kind: 'scheduled' },
      { kind: 'manual' },
    ]);
    expect(await position()).toBe(2n);
  });
  const silence = ['--rule', 'jump', '--tenant', 'acme', '--until', '2099-01-01', '--reason', 'known'];
  expect(await command(folder, 'alerts', 'silence', ...silence)).toBe(0);
  await eventually(async () => {
    expect(await client.query('SELECT reason FROM silences')).toEqual([{ reason: 'known' }]);
  });
  expect(loads()).toContain('pg');
}, 90_000);

test('status sees the queue of a daemon beside which the replica was replaced, until that starts anew', async () => {
  const folder = await configured('replaced');
  const { daemon } = start(folder);
  await daemon.line('run applied');
  const syncs = async (): Promise<unknown> => {
    const { code, out } = await answer(folder, 'status', '--json');
    expect(code).toBe(0);
    return JSON.parse(out).queue;
  };
  const one = { status: 'running', sync: { completed: 1 } };
  await eventually(async () => expect(await syncs()).toMatchObject(one));
  expect(await command(folder, 'publish', '--replace')).toBe(0);
  expect(await command(folder, 'publish', '--replace')).toBe(0);
  expect(await syncs()).toMatchObject(one);

  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);
  const next = start(folder);
  await next.daemon.line('ready');
  expect(await syncs()).toMatchObject({ status: 'running', sync: { completed: 0 } });
  const client = await replicaOf('replaced');
  expect(await client.query("SELECT name FROM ledger_meta WHERE name <> 'kept_from_run' ORDER BY 1")).toEqual([
    { name: 'ledger_id' },
  ]);
});

test('without publish in the configuration nothing of it is loaded', async () => {
  const { daemon, loads } = start(await configured(null));
  await daemon.line('run applied');
  daemon.child.kill('SIGTERM');
  await daemon.exit();
  expect(loads()).toBe('');
});

test('while Postgres is away the daemon syncs and delivers; it publishes by itself once Postgres is back', async () => {
  const folder = await configured('outage');
  await server.stop('fast');
  const { daemon } = start(folder);
  try {
    await daemon.line('the ledger could not be published');
    await daemon.line('run applied');
  } finally {
    await server.start();
  }
  await daemon.line('the replica takes the ledger again');
  const client = await replicaOf('outage');
  expect(await client.query('SELECT position FROM ledgers')).toEqual([{ position: 1n }]);
}, 120_000);

test('an old copy that comes back after a restore elsewhere publishes nothing and notifies of nothing but that', async () => {
  const received: string[] = [];
  const hook = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      received.push(JSON.parse(body).rule);
      response.end();
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void hook.close());
  const { port } = hook.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/`;
  const folder = await configured('fenced', `[{ type: webhook, url: "${url}", allow_private: true }]`);
  expect(await command(folder, 'sync')).toBe(0);
  expect(await command(folder, 'publish')).toBe(0);
  const old = join(folder, 'old');
  cpSync(join(folder, 'data'), old, { recursive: true });
  expect(await command(folder, 'restore', '--from-replica')).toBe(0);
  rmSync(join(folder, 'data'), { recursive: true });
  cpSync(old, join(folder, 'data'), { recursive: true });

  leaveNotification(join(folder, 'data', 'ledger.db'));
  const before = received.length;
  const { daemon } = start(folder);
  await daemon.line('the ledger could not be published');
  await eventually(() => expect(received.slice(before)).toContain('job_failed'));
  // A sync after it finds nothing new to say either, and its run stays here.
  await daemon.line('run applied');
  expect(new Set(received.slice(before))).toEqual(new Set(['job_failed']));
  const client = await replicaOf('fenced');
  expect(await client.query('SELECT position, epoch FROM ledgers')).toEqual([{ position: 1n, epoch: 1n }]);
  expect(
    viewLedger(join(folder, 'data', 'ledger.db')).value("SELECT state FROM finance_alerts WHERE cause = 'replica'"),
  ).toBe('firing');
}, 120_000);
