import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { secretsOf } from '../../config/reading/secrets.ts';
import type { Config } from '../../config/types.ts';
import type { Clock } from '../../core/clock.ts';
import { attemptLimit } from '../../core/deadline.ts';
import { summarizeError } from '../../core/errors.ts';
import { localUrl } from '../../core/net/public-address.ts';
import { createRedactor } from '../../core/text/redact.ts';
import { openReader } from '../../ledger/store/file/open.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import type { openReceiver as OpenReceiver } from '../../outlets/open-receiver.ts';
import { RedisMissingError } from '../../queue/errors.ts';
import { serverFolderAt } from '../../queue/redis/server-folder.ts';
import { describeTarget, privateRedisFolder, type RedisTarget } from '../../queue/redis/target.ts';
import { askRedisOnce } from '../shared/redis-probe.ts';
import { broken, type Finding, fail, ok, warn } from './finding.ts';

const ANSWER_MS = 2_000;

/** Whether the daemon's pages have their port: it is free, or the daemon itself listens there. */
export async function checkPort({ host, port }: Config['http'], clock: Clock): Promise<Finding[]> {
  if (port === 0) return [];
  const place = `${host}, port ${port}`;
  const address = host.replace(/^\[(.*)\]$/, '$1');
  const server = createServer();
  try {
    server.listen({ host: address, port });
    await once(server, 'listening');
    return [ok('http', `${place} is free`)];
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && (await isDaemon(host, port, clock)))
      return [ok('http', `a daemon answers on ${place}`)];
    const reason = code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be had: ${message}`;
    return [fail('http', `${place} ${reason}`, 'choose another http.port; http.port: 0 switches the pages off')];
  } finally {
    server.close();
  }
}

async function isDaemon(host: string, port: number, clock: Clock): Promise<boolean> {
  const limit = attemptLimit(clock, ANSWER_MS);
  try {
    const answer = await fetch(`${localUrl(host, port)}/healthz`, { signal: limit.signal });
    const said = (await answer.json()) as { status?: unknown; uptime_seconds?: unknown };
    return said.status === 'ok' && typeof said.uptime_seconds === 'number';
  } catch {
    return false;
  } finally {
    limit.release();
  }
}

export async function checkPublish({ publish, ledger }: Config, nowMs: number): Promise<Finding[]> {
  // Without a ledger there is nothing to publish; the check of the ledger says so.
  if (publish === null || !existsSync(ledger.path)) return [];
  const { describeStanding, standingOf } = await import('../../publish/standing.ts');
  const reader = openReader(ledger.path);
  try {
    const standing = await standingOf(publish, reader.connection, nowMs);
    const words = describeStanding(standing);
    if (standing.fault !== null) return [fail('publish', words, standing.fault.hint)];
    if (standing.lag.seconds * 1000 <= publish.staleMs) return [ok('publish', words)];
    const remedy = 'see whether the daemon runs and what its log says; `usage-ledger publish` sends it now';
    return [warn('publish', words, remedy)];
  } finally {
    reader.close();
  }
}

/** Names a request that changes nothing, before there is a ledger to name it. */
const NO_LEDGER = 'usage-ledger-doctor';

export async function checkOutlets(config: Config, clock: Clock): Promise<Finding[]> {
  const { outlets, ledger, proxy } = config;
  if (outlets.length === 0) return [];
  const [{ openReceiver }, { outletStandings, troubleOf }] = await Promise.all([
    import('../../outlets/open-receiver.ts'),
    import('../../outlets/standing.ts'),
  ]);
  const reader = existsSync(ledger.path) ? openReader(ledger.path) : null;
  try {
    const redact = createRedactor(secretsOf(config));
    const deps = { ledgerId: reader === null ? NO_LEDGER : ledgerId(reader.connection), clock, proxy, redact };
    const standings = reader === null ? [] : outletStandings(reader.connection, outlets);
    const findings: Finding[] = [];
    for (const outlet of outlets) {
      const { name } = outlet;
      findings.push(await probeOutlet(() => openReceiver(outlet, deps), name));
      const standing = standings.find((one) => one.name === name);
      if (standing === undefined) continue;
      const trouble = troubleOf(standing, false);
      if (trouble !== null) findings.push(warn('outlets', trouble, '`usage-ledger outlets status`', name));
      if (standing.state === 'not_begun') {
        const remedy = `\`usage-ledger outlets begin ${name}\` shows what would go there`;
        findings.push(warn('outlets', 'it was not begun: nothing is sent', remedy, name));
      }
    }
    return findings;
  } finally {
    reader?.close();
  }
}

async function probeOutlet(open: () => ReturnType<typeof OpenReceiver>, name: string): Promise<Finding> {
  try {
    const { receiver, close } = open();
    try {
      await receiver.probe(new AbortController().signal);
    } finally {
      await close();
    }
    return ok('outlets', 'the receiver answers and takes the credentials', name);
  } catch (error) {
    return broken('outlets', error, 'correct what the message names', name);
  }
}

/** BullMQ's own minimum. */
const OLDEST_REDIS = [6, 2] as const;
const VERSION_TIMEOUT_MS = 5000;

export async function checkRedis(config: Config, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  if (config.redisUrl !== null) {
    return checkServer({ kind: 'url', url: config.redisUrl }, ledgerIdAt(config.ledger.path));
  }
  try {
    serverFolderAt(privateRedisFolder(config.ledger.path), env.XDG_RUNTIME_DIR);
  } catch (error) {
    return [broken('redis', error, 'correct what the message names, or set redis_url')];
  }
  return checkProgram(env);
}

async function checkServer(target: RedisTarget, id: string): Promise<Finding[]> {
  const place = describeTarget(target);
  const { fault, facts } = await askRedisOnce(target, id);
  if (fault !== null) return [fail('redis', `${place} is not available: ${fault.reason}`, fault.hint)];
  const { version, maxmemoryPolicy, answerMs } = facts;
  if (version === null) {
    const message = `${place} runs all commands that are needed; its version and maxmemory-policy are unknown: its user may not run INFO`;
    const remedy = 'allow INFO (+info), or check that Redis is 6.2 or newer and maxmemory-policy is noeviction';
    return [warn('redis', message, remedy)];
  }
  const findings = [judgeVersion(version, `${place} is Redis ${version}, answered in ${answerMs.toFixed(1)} ms`)];
  if (maxmemoryPolicy !== 'noeviction') {
    const message = `maxmemory-policy of ${place} is ${maxmemoryPolicy}: Redis may drop jobs`;
    findings.push(fail('redis', message, 'set maxmemory-policy to noeviction, or use a Redis of its own'));
  }
  return findings;
}

/** The keys of the probe are those of the ledger's queue; a ledger that is not created yet has no id. */
function ledgerIdAt(path: string): string {
  if (!existsSync(path)) return 'doctor';
  const reader = openReader(path);
  try {
    return ledgerId(reader.connection);
  } finally {
    reader.close();
  }
}

async function checkProgram(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const program = findOnPath('redis-server', env.PATH ?? '');
  if (program === null) {
    return [broken('redis', new RedisMissingError(), '')];
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
