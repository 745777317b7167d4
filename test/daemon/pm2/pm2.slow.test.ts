import { existsSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isProcessRunning } from '../../../src/core/process/process-liveness.ts';
import { openReader } from '../../../src/ledger/store/file/open.ts';
import { privateRedisFolder } from '../../../src/queue/redis/target.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/server.ts';
import { daemonFolder } from '../../support/daemon-folder.ts';
import { eventually } from '../../support/eventually.ts';
import { ECOSYSTEM, Pm2World } from './pm2-world.ts';

// cspell:ignore redises

const OWN_NODE = fileURLToPath(new URL('../../../node_modules/node/bin/node', import.meta.url));

let world: Pm2World;
let sandbox: Sandbox;

beforeAll(async () => {
  world = new Pm2World();
  sandbox = await startSandbox();
  daemonFolder(sandbox, { defaults: { cron: '* * * * *' } }, world.folder);
});

afterAll(async () => {
  await world.close();
  await sandbox.close();
});

function appliedSlots(): string[] {
  const path = join(world.folder, 'data', 'ledger.db');
  if (!existsSync(path)) return [];
  const reader = openReader(path);
  try {
    const slots = reader.connection
      .prepare("SELECT slot FROM finance_runs WHERE status = 'applied' ORDER BY slot")
      .pluck();
    return slots.all() as string[];
  } finally {
    reader.close();
  }
}

test('under pm2 the daemon becomes ready, ticks, survives kill -9 and stops gracefully', {
  timeout: 300_000,
}, async () => {
  await world.pm2('start', ECOSYSTEM);
  const started = await world.listed();
  expect(started.pm2_env.status).toBe('online');
  expect(readlinkSync(`/proc/${started.pid}/exe`)).toBe(realpathSync(OWN_NODE));
  // `start` returned, and that is only after the daemon had said that it is ready.
  expect(world.logLines().some((line) => line.msg === 'ready')).toBe(true);

  await eventually(() => expect(appliedSlots().length).toBeGreaterThanOrEqual(1), 60_000);
  const beforeKill = appliedSlots();

  process.kill(started.pid, 'SIGKILL');
  await eventually(async () => {
    const again = await world.listed();
    expect(again.pm2_env).toMatchObject({ status: 'online', restart_time: 1 });
    expect(again.pid).not.toBe(started.pid);
  }, 60_000);
  await eventually(() => expect(world.logLines().filter((line) => line.msg === 'ready')).toHaveLength(2), 60_000);
  // The private Redis outlived the daemon: it was stopped before the next one was started.
  const redises = world.logLines().filter(({ msg }) => msg === 'private Redis is ready');
  expect(redises.map(({ pid }) => isProcessRunning(Number(pid)))).toEqual([false, true]);
  // The next minute's tick is worked off by the restarted daemon.
  await eventually(() => expect(appliedSlots().length).toBeGreaterThan(beforeKill.length), 90_000);

  const { pid } = await world.listed();
  await world.pm2('stop', 'usage-ledger');
  const stopped = await world.listed();
  expect(stopped.pm2_env.status).toBe('stopped');
  expect(isProcessRunning(pid)).toBe(false);
  // pm2 writes what it has been told a moment later.
  await eventually(() => expect(world.logLines().at(-1)?.msg).toBe('stopped'));
  expect(world.exitCodes().at(-1)).toBe(0);
  expect(world.logLines('error').filter(({ level }) => level !== 'error' && level !== 'fatal')).toEqual([]);
  expect(existsSync(join(privateRedisFolder(join(world.folder, 'data', 'ledger.db')), 'redis.sock'))).toBe(false);
});
