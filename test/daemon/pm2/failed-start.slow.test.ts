import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { configure, NOWHERE } from '../../support/daemon-folder.ts';
import { startDaemonProcess } from '../../support/daemon-process.ts';
import { eventually } from '../../support/eventually.ts';
import { ECOSYSTEM, Pm2World } from './pm2-world.ts';

function world(): Pm2World {
  const made = new Pm2World();
  onTestFinished(() => made.close());
  return made;
}

/** Starts it and waits for the end; pm2 says "waiting restart" of what it has stopped for good while a back-off is set. */
async function startInVain(of: Pm2World, told: RegExp): Promise<void> {
  const before = of.exitCodes();
  await of.pm2('start', ECOSYSTEM).catch(() => undefined);
  await eventually(() => expect(of.exitCodes()).toEqual([...before, 2]), 20_000);
  await eventually(() => expect(of.logText('error')).toMatch(told));
  // Longer than the back-off of pm2: whoever would start it again has had the time.
  const { pid, pm2_env } = await of.listed();
  expect({ pid, ...pm2_env }).toMatchObject({ pid: 0, restart_time: 0, exit_code: 2 });
  expect(pm2_env.status).not.toBe('online');
}

test('an invalid configuration exits with code 2, and pm2 does not restart it', async () => {
  const of = world();
  writeFileSync(join(of.folder, 'usage-ledger.yml'), 'nonsense: 1\n', { mode: 0o600 });
  await startInVain(of, /nonsense: is not a setting/);
  configure(of.folder, { workspaces: [NOWHERE], http: { port: 0 } });
  await of.pm2('start', 'usage-ledger');
  await eventually(() => expect(of.logLines().some(({ msg }) => msg === 'ready')).toBe(true), 20_000);
  expect((await of.listed()).pm2_env.status).toBe('online');
});

test('so does a port in use', async () => {
  const of = world();
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  configure(of.folder, { workspaces: [NOWHERE], http: { port: (other.address() as AddressInfo).port } });
  await startInVain(of, /the port is in use/);
});

test('temporary faults are retried, such as a disk that is not mounted yet', async () => {
  const of = world();
  mkdirSync(join(of.folder, 'data'), { mode: 0o700 });
  symlinkSync(join(of.folder, 'disk', 'ledger.db'), join(of.folder, 'data', 'ledger.db'));
  configure(of.folder, { workspaces: [NOWHERE], http: { port: 0 } });
  await of.pm2('start', ECOSYSTEM).catch(() => undefined);
  await eventually(async () => expect((await of.listed()).pm2_env.restart_time).toBeGreaterThan(0), 20_000);
  expect(new Set(of.exitCodes())).toEqual(new Set([1]));
});

test('every stop exits with 0', async () => {
  const of = world();
  configure(of.folder, { workspaces: [NOWHERE], http: { port: 0 } });
  for (const codes of [[0], [0, 0]]) {
    await of.pm2('start', ECOSYSTEM);
    await of.pm2('stop', 'usage-ledger');
    await eventually(() => expect(of.exitCodes()).toEqual(codes), 20_000);
  }
});

test('pm2 does not restart a second daemon, and the first one gets the ledger again after a restart and a reload', {
  timeout: 300_000,
}, async () => {
  const of = world();
  configure(of.folder, { workspaces: [NOWHERE], http: { port: 0 } });
  const first = startDaemonProcess(of.folder);
  await first.line('ready');
  await startInVain(of, new RegExp(`process ${first.child.pid} has been the daemon of`));
  first.child.kill('SIGTERM');
  expect(await first.exit()).toBe(0);
  const codes = of.exitCodes();
  const readies = () => of.logLines().filter(({ msg }) => msg === 'ready').length;
  await of.pm2('start', 'usage-ledger');
  await eventually(() => expect(readies()).toBe(1), 20_000);
  for (const [index, act] of (['restart', 'reload'] as const).entries()) {
    await of.pm2(act, 'usage-ledger');
    await eventually(() => expect(readies()).toBe(index + 2), 30_000);
  }
  expect(of.exitCodes()).toEqual([...codes, 0, 0]);
  expect((await of.listed()).pm2_env.status).toBe('online');
});
