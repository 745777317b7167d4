import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startReceiver } from '../alerts/channels/receiver.ts';
import { freePort } from '../queue/support.ts';
import { configure } from '../support/daemon-folder.ts';
import { CLI, startDaemonProcess } from '../support/daemon-process.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startWorld } from './reload-world.ts';

// cspell:ignore vjcm

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

test('reload applies workspaces and channels, lists settings that need a restart, and rejects an invalid file as a whole', async () => {
  const { settings } = await startWorld();
  const receiver = await startReceiver((response) => response.end());
  onTestFinished(() => receiver.close());
  const summaries = () => receiver.received.map(({ body }) => JSON.parse(String(body)).summary);
  const folder = configure(temporaryFolder(), settings('ws-1'));
  expect((await command(folder, 'reload')).stderr).toContain('no daemon is running for');
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
    `The daemon, process ${daemon.child.pid}, uses the current configuration.\nRestart needed to apply: http.port.\n`,
  );
  await eventually(() => expect(runs()).toEqual(['ws-1', 'ws-2']));

  // By the signal alone: who calls `reload` reads the mistake at once.
  configure(folder, { ...wider, workers: 'many', workspaces: [] });
  expect((await command(folder, 'reload')).status).toBe(2);
  daemon.child.kill('SIGHUP');
  await daemon.line('configuration rejected, the previous one stays active');
  await eventually(() => expect(summaries().join()).toContain('rejected a changed configuration'));
  configure(folder, wider);
  expect((await statusOf(folder)).configuration).toMatchObject({
    refused: { faults: [{ path: 'workers' }, { path: 'workspaces', message: 'must have at least one entry' }] },
    needs_restart: ['http.port'],
  });
  expect((await command(folder, 'status')).stdout).toContain('config  rejected; using the one read at');

  expect((await command(folder, 'reload')).status).toBe(0);
  expect((await statusOf(folder)).configuration).toMatchObject({ refused: null });
  await eventually(() => expect(summaries().at(-1)).toContain('uses the current configuration'));

  configure(folder, settings('ws-2'));
  expect((await command(folder, 'reload')).status).toBe(0);
  expect((await statusOf(folder)).workspaces.map(({ workspace_id }) => workspace_id)).toEqual(['ws-2', 'ws-1']);
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);
});

test('the daemon answers while a secret command is slow during a reload', async () => {
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
  const wasRead = () => daemon.lines.some(({ msg }) => msg === 'configuration reloaded');
  expect(wasRead()).toBe(false);
  await eventually(() => expect(wasRead()).toBe(true));
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);
});
