import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLogger } from '../../../src/core/logger.ts';
import { linkServiceManager } from '../../../src/daemon/watches/service-manager.ts';
import { startCommand } from '../../support/daemon-process.ts';
import { eventually } from '../../support/eventually.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { createVirtualClock } from '../../support/time/virtual-clock.ts';

const logger = createLogger({ level: 'silent' });

/** A `systemd-notify` that writes down what it is told. */
function recorder(): { env: NodeJS.ProcessEnv; told(): string[] } {
  const folder = temporaryFolder();
  const file = join(folder, 'told');
  writeFileSync(join(folder, 'systemd-notify'), `#!/bin/sh\necho "$@" >> '${file}'\n`);
  chmodSync(join(folder, 'systemd-notify'), 0o755);
  return {
    env: { ...WANTED, PATH: `${folder}:${process.env.PATH}` },
    told: () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []),
  };
}

const WANTED = { NOTIFY_SOCKET: '/run/systemd/notify', WATCHDOG_USEC: '300000000' };

function linked(env: NodeJS.ProcessEnv, ping: () => Promise<void> = async () => undefined) {
  const told: string[] = [];
  const clock = createVirtualClock(0);
  const send = async (state: string): Promise<void> => void told.push(state);
  return { told, clock, manager: linkServiceManager({ env, ping, send, clock, logger }) };
}

test('systemd hears of the start, of a heartbeat in each third of its patience, and of the stop', async () => {
  const { manager, told, clock } = linked(WANTED);
  await manager?.ready();
  await clock.advance(1_000);
  expect(told).toEqual(['READY=1', 'WATCHDOG=1']);
  await clock.advance(300_000);
  expect(told.slice(2)).toEqual(['WATCHDOG=1', 'WATCHDOG=1', 'WATCHDOG=1']);
  await manager?.stopping();
  await clock.advance(300_000);
  expect(told.slice(5)).toEqual(['STOPPING=1']);
});

test('of a writer that does not answer it hears nothing, until it answers', async () => {
  const answer = Promise.withResolvers<void>();
  const { manager, told, clock } = linked(WANTED, () => answer.promise);
  await manager?.ready();
  await clock.advance(600_000);
  expect(told).toEqual(['READY=1']);
  answer.resolve();
  await clock.advance(1_000);
  expect(told).toEqual(['READY=1', 'WATCHDOG=1']);
  await manager?.stopping();
});

test('without a socket nobody is told, and without patience there is no heartbeat', async () => {
  expect(linked({ ...WANTED, NOTIFY_SOCKET: '' }).manager).toBeNull();
  const { manager, told, clock } = linked({ ...WANTED, WATCHDOG_USEC: undefined });
  await manager?.ready();
  await clock.advance(600_000);
  expect(told).toEqual(['READY=1']);
});

test('the daemon tells systemd when it is ready, that its writer answers, and when it stops', async () => {
  const folder = temporaryFolder();
  const { env, told } = recorder();
  const lines = ['ledger: { path: ./ledger.db }', 'http: { port: 0 }', 'workspaces: [{ id: ws-1, name: One,'];
  const service =
    "base_url: 'http://127.0.0.1:9', embed_url: 'http://127.0.0.1:9', api_key_id: ak, secret_key: sk_of_this_test";
  writeFileSync(join(folder, 'usage-ledger.yml'), `${lines.join('\n')} ${service} }]\n`, { mode: 0o600 });
  const daemon = startCommand(folder, 'daemon', [], env);
  await eventually(() => expect(told()).toEqual(['READY=1', 'WATCHDOG=1']), 60_000);
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);
  expect(told()).toEqual(['READY=1', 'WATCHDOG=1', 'STOPPING=1']);
});
