import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connectRedis } from '../../../src/queue/redis/connection.ts';
import { probeRedis, requiredCommands } from '../../../src/queue/redis/probe.ts';
import { clientOf, redisForAll } from '../support.ts';

// cspell:ignore rcall

/** The scripts that a queue and a worker of ours run: adding, taking, finishing, returning, renewing and counting jobs. */
const SCRIPTS = [
  ...['addStandardJob', 'moveToActive', 'moveToFinished', 'moveStalledJobsToWait', 'moveJobFromActiveToWait'],
  ...['extendLock', 'extendLocks', 'getCounts', 'getRanges', 'updateProgress', 'releaseLock', 'isMaxed'],
];
const FOLDER = join(dirname(createRequire(import.meta.url).resolve('bullmq')), 'scripts');

test.each(SCRIPTS)('the probe runs each command that %s of the installed BullMQ calls', (script) => {
  const file = readdirSync(FOLDER).find((name) => name.startsWith(`${script}-`) && name.endsWith('.js'));
  const text = readFileSync(join(FOLDER, file ?? 'none'), 'utf8');
  const called = [...text.matchAll(/(?:rcall|redis\.p?call)\(\s*["']([A-Za-z]+)["']/g)].map(([, name]) => name);
  expect(called.length).toBeGreaterThan(0);
  const probed = new Set(requiredCommands('x').map(([name]) => name));
  expect(called.filter((name) => !probed.has(name?.toUpperCase() ?? ''))).toEqual([]);
});

const redis = redisForAll();

function connection(login: { username?: string; password?: string; db?: number } = {}) {
  const { target } = redis();
  if (target.kind !== 'socket') throw new Error('a socket is expected');
  const opened = connectRedis({ ...target, ...login }, { enableReadyCheck: false });
  opened.on('error', () => undefined);
  onTestFinished(() => opened.disconnect());
  return opened;
}

test('every command of the probe works, and none of its keys remains', async () => {
  const client = clientOf(redis().target);
  const errors: string[] = [];
  for (const [name, ...args] of requiredCommands('clean')) {
    await client.call(name, ...args).catch((error: Error) => errors.push(`${name}: ${error.message}`));
  }
  expect(errors).toEqual([]);
  expect(await client.keys('*clean*')).toEqual([]);
  expect((await probeRedis(connection(), 'clean')).facts).toMatchObject({ maxmemoryPolicy: 'noeviction' });
});

test('a user without INFO, PING and channels passes: the queue needs none of them', async () => {
  const client = clientOf(redis().target);
  const rights = ['resetchannels', '~bull:ul-*', '+@all', '-info', '-ping'];
  await client.call('ACL', 'SETUSER', 'hosted', 'on', '>pw', ...rights);
  const { fault, facts } = await probeRedis(connection({ username: 'hosted', password: 'pw' }), 'x');
  expect(fault).toBeNull();
  expect(facts?.version).toBeNull();
});

test('a database that Redis does not have is named, although ioredis continues in database 0', async () => {
  const { fault } = await probeRedis(connection({ db: 99 }), 'x');
  expect(fault).toMatchObject({ code: 'DB_INDEX', reason: 'it has no database 99' });
});
