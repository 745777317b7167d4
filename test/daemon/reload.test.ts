import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { takeUp } from '../../src/daemon/reload.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { startReceiver } from '../alerts/channels/receiver.ts';
import { freePort } from '../queue/support.ts';
import { configure, ONE_TICK } from '../support/daemon-folder.ts';
import { CLI, startDaemonProcess } from '../support/daemon-process.ts';
import { eventually } from '../support/eventually.ts';
import { startFixture } from '../support/sandbox-fixture.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface World {
  sandbox: Sandbox;
  settings(...ids: string[]): { workspaces: Record<string, unknown>[] };
}

async function startWorld({ tenants = 20 } = {}): Promise<World> {
  const workspaces = ['ws-1', 'ws-2'].map((id) => ({
    id,
    api_key_id: `ak_${id}`,
    secret_key: `sk_of_${id}`,
    generate: { tenants, months: 2 },
  }));
  const sandbox = await startSandbox({ scenario: { workspaces } });
  onTestFinished(() => sandbox.close());
  const settings: World['settings'] = (...ids) => ({
    ...ONE_TICK,
    http: { port: 0 },
    workspaces: workspaces
      .filter(({ id }) => ids.includes(id))
      .map(({ generate, ...own }) => ({ ...own, base_url: sandbox.url, embed_url: sandbox.url })),
  });
  return { sandbox, settings };
}

function command(
  folder: string,
  ...args: string[]
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [CLI, ...args], { cwd: folder }, (_error, stdout, stderr) => {
      resolve({ status: child.exitCode, stdout, stderr });
    });
  });
}

async function statusOf(folder: string): Promise<{ configuration: unknown; workspaces: { workspace_id: string }[] }> {
  return JSON.parse((await command(folder, 'status', '--json')).stdout);
}

test('reload takes up workspaces and channels, names what waits for a restart, and refuses a mistake whole', async () => {
  const { settings } = await startWorld();
  const receiver = await startReceiver((response) => response.end());
  onTestFinished(() => receiver.close());
  const summaries = () => receiver.received.map(({ body }) => JSON.parse(String(body)).summary);
  const folder = configure(temporaryFolder(), settings('ws-1'));
  expect((await command(folder, 'reload')).stderr).toContain('no daemon of');
  const daemon = startDaemonProcess(folder);
  await daemon.line('ready');
  const runs = (): string[] =>
    daemon.lines.filter(({ msg }) => msg === 'run applied').map(({ workspaceId }) => String(workspaceId));
  await eventually(() => expect(runs()).toEqual(['ws-1']));

  const channels = [
    {
      type: 'webhook',
      name: 'hook',
      url: receiver.url,
      allow_private: true,
      secret: 'whsec_c2VjcmV0IG9mIHRoaXMgdGVzdA==',
    },
  ];
  const wider = { ...settings('ws-1', 'ws-2'), http: { port: 9463 }, alerts: { channels } };
  configure(folder, wider);
  const taken = await command(folder, 'reload');
  expect(taken).toMatchObject({ status: 0, stderr: '' });
  expect(taken.stdout).toBe(
    `The daemon, process ${daemon.child.pid}, works by the configuration as it stands.\nFrom its next start on: http.port.\n`,
  );
  await eventually(() => expect(runs()).toEqual(['ws-1', 'ws-2']));

  // By the signal alone: who calls `reload` reads the mistake at once.
  configure(folder, { ...wider, workers: 'many', workspaces: [] });
  expect((await command(folder, 'reload')).status).toBe(2);
  daemon.child.kill('SIGHUP');
  await daemon.line('configuration refused, the one before stays');
  await eventually(() => expect(summaries().join()).toContain('refused a configuration'));
  configure(folder, wider);
  expect((await statusOf(folder)).configuration).toMatchObject({
    refused: { faults: [{ path: 'workers' }, { path: 'workspaces', message: 'must have at least one entry' }] },
    needs_restart: ['http.port'],
  });
  expect((await command(folder, 'status')).stdout).toContain('config  refused, the one of');

  expect((await command(folder, 'reload')).status).toBe(0);
  expect((await statusOf(folder)).configuration).toMatchObject({ refused: null });
  await eventually(() => expect(summaries().at(-1)).toContain('works by the configuration as it stands'));

  configure(folder, settings('ws-2'));
  expect((await command(folder, 'reload')).status).toBe(0);
  expect((await statusOf(folder)).workspaces.map(({ workspace_id }) => workspace_id)).toEqual(['ws-2', 'ws-1']);
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);
});

test('a run under way goes on when the key that it began with is exchanged and no longer taken', async () => {
  const { sandbox, settings } = await startWorld({ tenants: 150 });
  const folder = configure(temporaryFolder(), settings('ws-1'));
  const daemon = startDaemonProcess(folder);
  const exchange = async (): Promise<void> => {
    const workspace = sandbox.workspace('ws-1');
    sandbox.keys.set('ak_new', { id: 'ak_new', secret: 'sk_that_is_new', workspace });
    const [{ api_key_id, secret_key, ...own }] = settings('ws-1').workspaces as [Record<string, string>];
    const keys = [{ api_key_id: 'ak_new', secret_key: 'sk_that_is_new' }];
    configure(folder, { ...settings('ws-1'), workspaces: [{ ...own, keys }] });
    daemon.child.kill('SIGHUP');
    await daemon.line('configuration read again');
    sandbox.keys.delete(String(api_key_id));
  };
  sandbox.faults.push({ when: { page: 2 }, action: { type: 'before', run: exchange } });
  expect(await daemon.line('run applied')).toMatchObject({ workspaceId: 'ws-1', records: 300 });
  expect(daemon.lines.filter(({ level }) => level === 'error')).toEqual([]);
  // Page 2 was asked for by the old key, and at once again by the new one.
  const statuses = sandbox.requests.records.map(({ status }) => status);
  expect(statuses.slice(0, 3)).toEqual([200, 401, 200]);
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);
});

test('the daemon answers while a command takes its time over a secret, in a reload', async () => {
  const { settings } = await startWorld();
  const http = { port: await freePort() };
  const folder = configure(temporaryFolder(), { ...settings('ws-1'), http });
  const daemon = startDaemonProcess(folder);
  await daemon.line('ready');

  const asked = join(folder, 'asked');
  const [{ secret_key, ...own }] = settings('ws-1').workspaces as [Record<string, unknown>];
  const slow = ['sh', '-c', `touch ${asked}; sleep 4; echo ${secret_key}`];
  configure(folder, { ...settings('ws-1'), http, workspaces: [{ ...own, secret_key_command: slow }] });
  daemon.child.kill('SIGHUP');
  await eventually(() => expect(existsSync(asked)).toBe(true));
  const signal = AbortSignal.timeout(1_000);
  expect((await fetch(`http://127.0.0.1:${http.port}/healthz`, { signal })).status).toBe(200);
  const wasRead = () => daemon.lines.some(({ msg }) => msg === 'configuration read again');
  expect(wasRead()).toBe(false);
  await eventually(() => expect(wasRead()).toBe(true));
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);
});

test('only what a start cannot do again waits for one', async () => {
  const { config } = await startFixture();
  const next = {
    ...config,
    workers: 3,
    http: { ...config.http, port: 1, publicUrl: 'https://x.example' },
    workspaces: config.workspaces.map((workspace) => ({ ...workspace, cron: '0 0 * * *' })),
  };
  const { config: taken, needsRestart } = takeUp(next, config);
  expect(needsRestart).toEqual(['workers', 'http.port']);
  expect(taken).toMatchObject({
    workers: config.workers,
    http: { port: config.http.port, publicUrl: 'https://x.example' },
  });
  expect(taken.workspaces[0]?.cron).toBe('0 0 * * *');
  const other = { ...next, ledger: { ...config.ledger, path: join(temporaryFolder(), 'other.db') } };
  expect(takeUp(other, config)).toEqual({ config, needsRestart: ['ledger.path'] });
});
