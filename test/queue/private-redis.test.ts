import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type PrivateRedis, startPrivateRedis } from '../../src/queue/redis/private-redis.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { clientOf, recordingLogger, until } from './support.ts';

// cspell:ignore unstub

const { logger, lines } = recordingLogger();
const moduleUrl = new URL('../../src/queue/redis/private-redis.ts', import.meta.url).href;
let folder: string;
let started: PrivateRedis[];

beforeEach(() => {
  folder = temporaryFolder();
  started = [];
  lines.length = 0;
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(started.map((redis) => redis.close()));
});

async function start(dir = folder): Promise<PrivateRedis> {
  const redis = await startPrivateRedis({ dir, logger });
  started.push(redis);
  return redis;
}

/** A process that was not reaped (no init in a container) has ended all the same. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !existsSync(`/proc/${pid}/stat`) || !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

async function serversOn(dir: string): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'stat=,args=']);
  return stdout.split('\n').filter((line) => !line.startsWith('Z') && /redis-server/.test(line) && line.includes(dir))
    .length;
}

/** A daemon in a process of its own, killed without a chance to stop its server. */
async function startInKilledProcess(dir: string): Promise<number> {
  const script = `
    const { startPrivateRedis } = await import(${JSON.stringify(moduleUrl)});
    const quiet = () => undefined;
    const logger = { info: quiet, warn: quiet, error: quiet, debug: quiet };
    const redis = await startPrivateRedis({ dir: ${JSON.stringify(dir)}, logger });
    process.stdout.write(String(redis.pid) + '\\n');
    setInterval(quiet, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = await new Promise<number>((resolve) => child.stdout.once('data', (text) => resolve(Number(text))));
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exited;
  return pid;
}

describe('a private Redis', () => {
  test('accepts commands on a socket of this user only, keeps jobs across a restart and evicts none', async () => {
    const redis = await start();
    const client = clientOf(redis.target);
    await client.set('kept', 'yes');
    expect(await client.config('GET', 'maxmemory-policy')).toContain('noeviction');
    expect(await client.config('GET', 'port')).toContain('0');
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    client.disconnect();
    await redis.close();

    const again = await start();
    const second = clientOf(again.target);
    expect(await second.get('kept')).toBe('yes');
    second.disconnect();
  });

  test('leaves no process and no socket after close, which may be called twice', async () => {
    const redis = await start();
    expect(runs(redis.pid)).toBe(true);
    expect(await serversOn(folder)).toBe(1);
    await Promise.all([redis.close(), redis.close()]);
    expect(runs(redis.pid)).toBe(false);
    expect(await serversOn(folder)).toBe(0);
    expect(existsSync(join(folder, 'redis.sock'))).toBe(false);
  });

  test('that a killed daemon left is stopped before the next daemon starts one with the same jobs', async () => {
    const pid = await startInKilledProcess(folder);
    expect(runs(pid)).toBe(true);
    const left = clientOf({ kind: 'socket', path: join(folder, 'redis.sock') });
    await left.set('kept', 'yes');
    left.disconnect();
    const redis = await start();
    expect(runs(pid)).toBe(false);
    expect(redis.pid).not.toBe(pid);
    expect(await serversOn(folder)).toBe(1);
    const client = clientOf(redis.target);
    expect(await client.get('kept')).toBe('yes');
    client.disconnect();
    await redis.close();
    expect(await serversOn(folder)).toBe(0);
  });

  test('is restarted when it dies', async () => {
    const redis = await start();
    const before = redis.pid;
    const client = clientOf(redis.target);
    client.on('error', () => undefined);
    await client.set('kept', 'yes');
    process.kill(before, 'SIGKILL');
    await until('a new server', () => redis.pid !== before);
    expect(await client.get('kept')).toBe('yes');
    expect(await serversOn(folder)).toBe(1);
    client.disconnect();
    expect(lines.filter((line) => line.includes('private Redis exited'))).toHaveLength(1);
  });

  test('has a short socket path if its folder has a long one', async () => {
    vi.stubEnv('XDG_RUNTIME_DIR', folder);
    const deep = join(folder, 'a-rather-long-folder-name'.repeat(3), 'another-long-folder-name'.repeat(3));
    mkdirSync(deep, { recursive: true });
    const redis = await start(deep);
    if (redis.target.kind !== 'socket') throw new Error('a socket is expected');
    const { path } = redis.target;
    expect(Buffer.byteLength(path)).toBeLessThanOrEqual(103);
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700);
    await redis.close();
    expect(existsSync(join(path, '..'))).toBe(false);
  });

  test('starts empty if the stored queue is damaged, and keeps a copy of the damaged files', async () => {
    const redis = await start();
    await redis.close();
    writeFileSync(join(folder, 'appendonlydir', 'appendonly.aof.manifest'), 'this is no manifest\n');
    const again = await start();
    const client = clientOf(again.target);
    expect(await client.dbsize()).toBe(0);
    client.disconnect();
    expect(existsSync(join(folder, 'appendonlydir.damaged'))).toBe(true);
  });

  test('fails with a remedy if redis-server is not on PATH', async () => {
    vi.stubEnv('PATH', folder);
    await expect(start()).rejects.toMatchObject({
      code: 'redis_missing',
      retryable: false,
      hint: expect.stringContaining('redis_url'),
    });
  });

  test('survives Ctrl-C in the terminal of its daemon, because it has a process group of its own', async () => {
    const redis = await start();
    const { stdout } = await promisify(execFile)('ps', ['-o', 'pgid=', '-p', String(redis.pid)]);
    expect(Number(stdout)).toBe(redis.pid);
  });
});
