import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { Config } from '../../config/types.ts';
import { summarizeError } from '../../core/errors.ts';
import { privateRedisFolder } from '../../daemon/open-queue.ts';
import { RedisMissingError } from '../../queue/errors.ts';
import { describeTarget, type RedisTarget } from '../../queue/redis/connection.ts';
import { serverFolderAt } from '../../queue/redis/server-folder.ts';
import { probeRedis } from '../shared/redis-probe.ts';
import { type Finding, fail, ok } from './finding.ts';

/** BullMQ's own minimum. */
const OLDEST_REDIS = [6, 2] as const;
const VERSION_TIMEOUT_MS = 5000;

/** The configured Redis, or the program that the daemon would start. */
export async function checkRedis(config: Config, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  if (config.redisUrl !== null) return checkServer({ kind: 'url', url: config.redisUrl });
  try {
    serverFolderAt(privateRedisFolder(config.ledger.path), env.XDG_RUNTIME_DIR);
  } catch (error) {
    const { message, hint } = summarizeError(error);
    return [fail('redis', message, hint ?? 'correct what the message names, or set redis_url')];
  }
  return checkProgram(env);
}

async function checkServer(target: RedisTarget): Promise<Finding[]> {
  const place = describeTarget(target);
  try {
    const { version, maxmemoryPolicy, pingMs } = await probeRedis(target);
    const findings = [judgeVersion(version, `${place} is Redis ${version}, answered in ${pingMs.toFixed(1)} ms`)];
    if (maxmemoryPolicy !== 'noeviction') {
      const message = `maxmemory-policy of ${place} is ${maxmemoryPolicy}: Redis may drop jobs`;
      findings.push(fail('redis', message, 'set maxmemory-policy to noeviction, or use a Redis of its own'));
    }
    return findings;
  } catch (error) {
    const { message } = summarizeError(error);
    return [fail('redis', `${place} is not available: ${message}`, 'start it, or correct redis_url')];
  }
}

async function checkProgram(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const program = findOnPath('redis-server', env.PATH ?? '');
  if (program === null) {
    const { message, hint } = new RedisMissingError();
    return [fail('redis', message, hint ?? '')];
  }
  try {
    const { stdout } = await promisify(execFile)(program, ['--version'], { timeout: VERSION_TIMEOUT_MS });
    const version = /\bv=(\S+)/.exec(stdout)?.[1] ?? 'unknown';
    return [judgeVersion(version, `${program} is version ${version}; the daemon starts it for itself`)];
  } catch (error) {
    const { message } = summarizeError(error);
    return [fail('redis', `${program} cannot be run: ${message}`, 'reinstall redis-server, or set redis_url')];
  }
}

function judgeVersion(version: string, message: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_REDIS;
  // A fork with numbers of its own, or none, is not judged by them.
  const old = major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
  return old ? fail('redis', message, `use Redis ${OLDEST_REDIS.join('.')} or newer, or Valkey`) : ok('redis', message);
}

/** The program of this name in the first folder of `path` that has it. */
export function findOnPath(name: string, path: string): string | null {
  for (const folder of path.split(delimiter)) {
    if (folder === '') continue;
    const candidate = join(folder, name);
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}
