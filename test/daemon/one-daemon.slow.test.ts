import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { lockForDaemon } from '../../src/ledger/store/file/daemon-lock.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { daemonFolder } from '../support/daemon-folder.ts';
import { CLI, type DaemonProcess, startDaemonProcess } from '../support/daemon-process.ts';
import { eventually } from '../support/eventually.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** How often several start at once, and one is killed and another one started at once. */
const ROUNDS = Number(process.env.DAEMON_STARTS ?? 2);
const SIGNAL = new AbortController().signal;

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.close());

function configure(folder: string, ledger: string): string {
  mkdirSync(folder, { recursive: true });
  return daemonFolder(sandbox, { ledger: { path: ledger } }, folder);
}

function command(folder: string, name: string): Promise<{ status: number | null; stderr: string; ms: number }> {
  const began = performance.now();
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [CLI, name], { cwd: folder }, (_error, _stdout, stderr) => {
      resolve({ status: child.exitCode, stderr, ms: performance.now() - began });
    });
  });
}

async function startedIn(folder: string): Promise<DaemonProcess> {
  const daemon = startDaemonProcess(folder);
  await daemon.line('ready');
  return daemon;
}

test('a second daemon names the owner of the ledger, its start and a remedy, and exits with code 2; commands still work', async () => {
  const folder = configure(temporaryFolder(), 'data/ledger.db');
  const before = Date.now();
  const first = await startedIn(folder);
  // A command that only loads takes as long on this machine.
  const loadMs = (await command(folder, 'status')).ms;
  const second = await command(folder, 'daemon');
  expect(second.status).toBe(2);
  expect(second.ms).toBeLessThan(loadMs + 1_000);
  const lines = second.stderr.trim().split('\n');
  const [, pid, path, since] = /process (\d+) has been the daemon of (\S+) since (\S+)$/.exec(lines[0] ?? '') ?? [];
  expect([pid, path]).toEqual([String(first.child.pid), join(folder, 'data', 'ledger.db')]);
  expect(Date.parse(since ?? '')).toBeGreaterThanOrEqual(before - 1_000);
  expect(Date.parse(since ?? '')).toBeLessThanOrEqual(Date.now());
  expect(lines[1]).toContain(`kill ${pid}`);
  expect((await command(folder, 'sync')).status).toBe(0);
  expect((await command(folder, 'verify')).status).toBe(0);
  expect(first.child.exitCode).toBeNull();
  first.child.kill('SIGTERM');
  expect(await first.exit()).toBe(0);
  // The lock stays as a file, for whoever removed it would let two in; its text goes.
  expect(readdirSync(join(folder, 'data')).filter((name) => name.includes('.daemon'))).toEqual(['ledger.db.daemon']);
});

test('the lock belongs to the file: a link is the same ledger, and two ledgers in one folder are separate', async () => {
  const root = temporaryFolder();
  const data = join(root, 'data');
  const one = await startedIn(configure(join(root, 'one'), join(data, 'ledger.db')));
  symlinkSync(root, join(root, 'linked'));
  symlinkSync(join(data, 'ledger.db'), join(root, 'ledger-link.db'));
  for (const [name, path] of [
    ['by-folder', join(root, 'linked', 'data', 'ledger.db')],
    ['by-file', join(root, 'ledger-link.db')],
  ] as const) {
    const { status, stderr } = await command(configure(join(root, name), path), 'daemon');
    expect(stderr).toContain(`process ${one.child.pid} has been the daemon`);
    expect(status).toBe(2);
  }
  const other = await startedIn(configure(join(root, 'two'), join(data, 'other.db')));
  other.child.kill('SIGTERM');
  expect(await other.exit()).toBe(0);
  // Each has a Redis of its own: that of the first goes on.
  const { pid } = await one.line('private Redis is ready');
  expect((await other.line('private Redis is ready')).pid).not.toBe(pid);
  expect(() => process.kill(Number(pid), 0)).not.toThrow();
  expect(one.lines.map(({ msg }) => msg)).not.toContain('private Redis exited');
  expect(one.child.exitCode).toBeNull();
});

test('exactly one of several daemons gets the ledger, and after a kill the next one gets it at once', {
  timeout: 60_000 + ROUNDS * 20_000,
}, async () => {
  const folder = configure(temporaryFolder(), 'data/ledger.db');
  for (let round = 0; round < ROUNDS; round += 1) {
    const rivals = [0, 1, 2].map(() => startDaemonProcess(folder));
    const ready = () => rivals.filter(({ lines }) => lines.some(({ msg }) => msg === 'ready'));
    const ended = () => rivals.filter(({ child }) => child.exitCode !== null);
    await eventually(() => expect([ready().length, ended().length]).toEqual([1, 2]), 60_000);
    for (const loser of ended()) expect([round, await loser.exit()]).toEqual([round, 2]);
    const [winner] = ready();
    winner?.child.kill('SIGKILL');
    const next = await startedIn(folder);
    expect(await winner?.exit()).toBe('SIGKILL');
    next.child.kill('SIGKILL');
    await next.exit();
  }
  const last = await startedIn(folder);
  last.child.kill('SIGTERM');
  expect(await last.exit()).toBe(0);
  expect((await command(folder, 'verify')).status).toBe(0);
});

test('a daemon waits for a stopping one, but not for a running one', async () => {
  const path = join(temporaryFolder(), 'data', 'ledger.db');
  const first = await lockForDaemon({ path }, systemClock, SIGNAL);
  expect((await rejection(lockForDaemon({ path }, systemClock, SIGNAL))).message).toContain(`process ${process.pid} `);
  first?.announceStop();
  const next = lockForDaemon({ path }, systemClock, SIGNAL);
  // Longer than anybody waits for one that goes on.
  await new Promise((resolve) => systemClock.after(600, () => resolve(null)));
  first?.release();
  const second = await next;
  onTestFinished(() => second?.release());
  expect(second).not.toBeNull();
  expect(existsSync(`${path}.daemon.json`)).toBe(true);
});

test('a stop ends the wait, and the record of a dead process does not count', async () => {
  const path = join(temporaryFolder(), 'data', 'ledger.db');
  const first = await lockForDaemon({ path }, systemClock, SIGNAL);
  onTestFinished(() => first?.release());
  first?.announceStop();
  const stop = new AbortController();
  const waiting = lockForDaemon({ path }, systemClock, stop.signal);
  stop.abort();
  expect(await waiting).toBeNull();
  const { pid } = spawnSync(process.execPath, ['--version']);
  const left = {
    host: (await import('node:os')).hostname(),
    pid,
    start: 'long ago',
    since: 'long ago',
    stopping: true,
  };
  writeFileSync(`${path}.daemon.json`, JSON.stringify(left));
  expect((await rejection(lockForDaemon({ path }, systemClock, SIGNAL))).message).toContain(
    'another process is running as the daemon',
  );
});
