import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { secretsOf } from '../../config/reading/secrets.ts';
import type { Config } from '../../config/types.ts';
import type { Clock } from '../../core/clock.ts';
import { summarizeError } from '../../core/errors.ts';
import { createRedactor } from '../../core/text/redact.ts';
import { openReader } from '../../ledger/store/file/open.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { HttpClient, readText } from '../../net/http-client.ts';
import { localUrl } from '../../net/local-address.ts';
import type { openReceiver as OpenReceiver } from '../../outlets/open-receiver.ts';
import { RedisMissingError } from '../../queue/errors.ts';
import { serverFolderAt } from '../../queue/redis/server-folder.ts';
import { describeTarget, privateRedisFolder, type RedisTarget } from '../../queue/redis/target.ts';
import { probeRedisOnce } from '../system/find-redis.ts';
import { type DoctorFinding, fail, failedWith, ok, warn } from './finding.ts';

const DAEMON_TIMEOUT_MS = 2_000;
const MAX_HEALTH_BYTES = 64 * 1024;

/** Checks that the port of the daemon's pages is free, or that the daemon is listening on it. */
export async function checkPort({ host, port }: Config['http'], clock: Clock): Promise<DoctorFinding[]> {
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
    const reason = code === 'EADDRINUSE' ? 'is used by another program' : `cannot be opened: ${message}`;
    return [
      fail('http', `${place} ${reason}`, 'choose another http.port, or set http.port: 0 to switch the pages off'),
    ];
  } finally {
    server.close();
  }
}

async function isDaemon(host: string, port: number, clock: Clock): Promise<boolean> {
  const client = new HttpClient({ clock, timeoutMs: DAEMON_TIMEOUT_MS });
  try {
    const request = { method: 'GET' as const, url: new URL(`${localUrl(host, port)}/healthz`) };
    const text = await client.send(request, ({ body }) => readText(body, MAX_HEALTH_BYTES));
    const health: { status?: unknown; uptime_seconds?: unknown } = JSON.parse(text);
    return health.status === 'ok' && typeof health.uptime_seconds === 'number';
  } catch {
    return false;
  } finally {
    await client.close();
  }
}

export async function checkPublish({ publish, ledger }: Config, nowMs: number): Promise<DoctorFinding[]> {
  // If there is no ledger, there is nothing to publish. `checkLedger` reports that it is missing.
  if (publish === null || !existsSync(ledger.path)) return [];
  const { describeCopyStatus, readCopyStatus } = await import('../../publish/copy-status.ts');
  const reader = openReader(ledger.path);
  try {
    const standing = await readCopyStatus(publish, reader.connection, nowMs);
    const words = describeCopyStatus(standing);
    if (standing.fault !== null) return [fail('publish', words, standing.fault.hint)];
    if (standing.lag.seconds * 1000 <= publish.staleMs) return [ok('publish', words)];
    const remedy = 'check that the daemon runs and read its log; `usage-ledger publish` updates the copy now';
    return [warn('publish', words, remedy)];
  } finally {
    reader.close();
  }
}

/** The ledger id that is used in test requests to receivers if there is no ledger yet. These requests only read. */
const PLACEHOLDER_LEDGER_ID = 'usage-ledger-doctor';

export async function checkOutlets(config: Config, clock: Clock): Promise<DoctorFinding[]> {
  const { outlets, ledger, proxy } = config;
  if (outlets.length === 0) return [];
  const [{ openReceiver }, { readOutletStatuses, describeOutletProblems }] = await Promise.all([
    import('../../outlets/open-receiver.ts'),
    import('../../outlets/outlet-status.ts'),
  ]);
  const reader = existsSync(ledger.path) ? openReader(ledger.path) : null;
  try {
    const redact = createRedactor(secretsOf(config));
    const deps = {
      ledgerId: reader === null ? PLACEHOLDER_LEDGER_ID : ledgerId(reader.connection),
      clock,
      proxy,
      redact,
    };
    const standings = reader === null ? [] : readOutletStatuses(reader.connection, outlets);
    const findings: DoctorFinding[] = [];
    for (const outlet of outlets) {
      const { name } = outlet;
      findings.push(await probeOutlet(() => openReceiver(outlet, deps), name));
      const standing = standings.find((one) => one.name === name);
      if (standing === undefined) continue;
      const trouble = describeOutletProblems(standing, false);
      if (trouble !== null) findings.push(warn('outlets', trouble, 'see `usage-ledger outlets status`', name));
      if (standing.state === 'not_started') {
        const remedy = `see \`usage-ledger outlets start ${name}\`, which shows what would be sent`;
        findings.push(warn('outlets', 'not started: nothing is sent', remedy, name));
      }
    }
    return findings;
  } finally {
    reader?.close();
  }
}

async function probeOutlet(open: () => ReturnType<typeof OpenReceiver>, name: string): Promise<DoctorFinding> {
  try {
    const { receiver, close } = open();
    try {
      await receiver.probe(new AbortController().signal);
    } finally {
      await close();
    }
    return ok('outlets', 'the receiver answers and accepts the credentials', name);
  } catch (error) {
    return failedWith('outlets', error, 'fix what the message names', name);
  }
}

/** The oldest version of Redis that BullMQ supports: major and minor number. */
const MIN_REDIS_VERSION = [6, 2] as const;
const VERSION_TIMEOUT_MS = 5000;

export async function checkRedis(config: Config, env: NodeJS.ProcessEnv): Promise<DoctorFinding[]> {
  if (config.redisUrl !== null) {
    return checkServer({ kind: 'url', url: config.redisUrl }, ledgerIdAt(config.ledger.path));
  }
  try {
    serverFolderAt(privateRedisFolder(config.ledger.path), env.XDG_RUNTIME_DIR);
  } catch (error) {
    return [failedWith('redis', error, 'fix what the message names, or set redis_url')];
  }
  return checkProgram(env);
}

async function checkServer(target: RedisTarget, id: string): Promise<DoctorFinding[]> {
  const place = describeTarget(target);
  const { fault, facts } = await probeRedisOnce(target, id);
  if (fault !== null) return [fail('redis', `${place} is unavailable: ${fault.reason}`, fault.hint)];
  const { version, maxmemoryPolicy, responseMs } = facts;
  if (version === null) {
    const message = `${place} accepts every required command; its version and maxmemory-policy are unknown: its user may not run INFO`;
    const remedy = 'allow INFO (+info), or check that Redis is 6.2 or newer and maxmemory-policy is noeviction';
    return [warn('redis', message, remedy)];
  }
  const findings = [judgeVersion(version, `${place} is Redis ${version}, answered in ${responseMs.toFixed(1)} ms`)];
  if (maxmemoryPolicy !== 'noeviction') {
    const message = `maxmemory-policy of ${place} is ${maxmemoryPolicy}: Redis may drop jobs`;
    findings.push(fail('redis', message, 'set maxmemory-policy to noeviction, or use a dedicated Redis'));
  }
  return findings;
}

/**
 * Returns the ledger's id, because the test uses the same keys in Redis as the ledger's queue. Returns `doctor` if the
 * ledger does not exist.
 */
function ledgerIdAt(path: string): string {
  if (!existsSync(path)) return 'doctor';
  const reader = openReader(path);
  try {
    return ledgerId(reader.connection);
  } finally {
    reader.close();
  }
}

async function checkProgram(env: NodeJS.ProcessEnv): Promise<DoctorFinding[]> {
  const program = findOnPath('redis-server', env.PATH ?? '');
  if (program === null) {
    return [failedWith('redis', new RedisMissingError(), '')];
  }
  try {
    const { stdout } = await promisify(execFile)(program, ['--version'], { timeout: VERSION_TIMEOUT_MS });
    const version = /\bv=(\S+)/.exec(stdout)?.[1] ?? 'unknown';
    return [judgeVersion(version, `${program} is version ${version}; the daemon starts its own instance`)];
  } catch (error) {
    const { message } = summarizeError(error);
    return [fail('redis', `${program} cannot be run: ${message}`, 'reinstall redis-server, or set redis_url')];
  }
}

function judgeVersion(version: string, message: string): DoctorFinding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [minMajor, minMinor] = MIN_REDIS_VERSION;
  // Forks of Redis that have version numbers of their own, or no version number, are accepted.
  const old = major < minMajor || (major === minMajor && minor < minMinor);
  return old
    ? fail('redis', message, `use Redis ${MIN_REDIS_VERSION.join('.')} or newer, or Valkey`)
    : ok('redis', message);
}

export function findOnPath(name: string, path: string): string | null {
  for (const folder of path.split(delimiter)) {
    if (folder === '') continue;
    const candidate = join(folder, name);
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // The program is not in this folder.
    }
  }
  return null;
}
