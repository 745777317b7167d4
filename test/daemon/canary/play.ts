import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import type { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import type { Config } from '../../../src/config/types.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { startDaemon } from '../../../src/daemon/daemon.ts';
import { startPrivateRedis } from '../../../src/queue/redis/private-redis.ts';
import { clientOf, freePort } from '../../queue/support.ts';
import { eventually } from '../../support/eventually.ts';
import { manualOrder, startFixture } from '../../support/sandbox-fixture.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { SHARED_SECRETS, startHostileReceivers } from './hostile-receivers.ts';
import { FAULTS, startHostileService } from './hostile-service.ts';

/** One workspace, its fault, and what became of its runs. */
export interface PlayedFault {
  secret: string;
  signatures: readonly string[];
  /** Of its runs in the ledger. */
  codes: readonly string[];
  messages: readonly string[];
}

export interface Played {
  faults: ReadonlyMap<string, PlayedFault>;
  /** Everything that was written, sent or shown, by where. */
  places: ReadonlyMap<string, string>;
}

/**
 * A daemon at trace level whose log no redactor guards, on a Redis with a password, with a workspace for each fault and
 * receivers that repeat what they know: until each workspace has failed twice and its alert has been told.
 */
export async function play(): Promise<Played> {
  const names = Object.keys(FAULTS);
  const secretOf = (workspaceId: string): string => `Canary-${workspaceId.replace('ws-', '')}-k9Zq`;
  const nameOf = (workspaceId: string): string => names[Number(workspaceId.replace('ws-', '')) - 100] ?? '';
  const service = await startHostileService((id) => FAULTS[nameOf(id)] as (typeof FAULTS)[string], secretOf);
  onTestFinished(() => service.close());
  const receivers = await startHostileReceivers();
  const lines: string[] = [];
  const logger = createLogger({ level: 'trace', destination: { write: (line) => void lines.push(line) } });
  const redis = await startRedisWithPassword();

  const fixture = await startFixture({ thread: true, settings: { cron: '0 0 1 1 *', reconcileCron: '0 0 1 1 *' } });
  const [template] = fixture.config.workspaces;
  const config: Config = {
    ...fixture.config,
    http: { ...fixture.config.http, port: await freePort(), token: SHARED_SECRETS.http },
    redisUrl: redis.url,
    workspaces: names.map((_, index) => {
      const id = `ws-${index + 100}`;
      return {
        ...(template as Config['workspaces'][number]),
        id,
        baseUrl: service.url,
        keys: [{ apiKeyId: 'ak_canary', secretKey: secretOf(id) }],
      };
    }),
    alerts: { channels: receivers.channels },
  };
  const clientOptions = { retries: 1, retryBaseMs: 1, requestTimeoutMs: 3_000 };
  const context = fixture.another(() => config, { logger, clientOptions });
  const failures = config.workspaces.map(async ({ id }) => {
    const thrown = await context.sync(manualOrder({ workspaceId: id })).catch((error: unknown) => error);
    return [inspect(thrown, { depth: 9, showHidden: true }), String((thrown as Error).stack)];
  });
  const errors = (await Promise.all(failures)).flat();
  const daemon = await startDaemon(context);
  onTestFinished(() => daemon.stop());
  await eventually(() => {
    // What waits for others of its kind waits by this clock.
    fixture.clock.advance(30_000);
    const failed = lines.filter((line) => line.includes('run failed')).length;
    expect(failed).toBeGreaterThanOrEqual(names.length);
    // What fails together is told together: a message names many workspaces, and a webhook has each of them whole.
    const hooks = receivers.requests.filter(({ path }) => path.startsWith('/hook?'));
    const named = hooks.flatMap(({ body }) => String(body).match(/"workspace_id": ?"ws-\d+"/g) ?? []);
    expect(new Set(named).size).toBeGreaterThanOrEqual(names.length);
    expect(receivers.mails.length).toBeGreaterThan(0);
    expect(receivers.requests.filter(({ path }) => path.includes('/services/')).length).toBeGreaterThan(0);
  }, 180_000);
  const pages = await readPages(config);
  const stored = await dumpRedis(redis.client);
  const processes = readProcesses();
  await daemon.stop();
  const runs = fixture.view().rows('SELECT workspace_id, error_code, error_message FROM finance_runs');
  await context.close();

  const faults = names.map((name, index): [string, PlayedFault] => {
    const id = `ws-${index + 100}`;
    const own = runs.filter((run) => run.workspace_id === id);
    const codes = own.map(({ error_code }) => String(error_code));
    const messages = own.map(({ error_message }) => String(error_message));
    return [name, { secret: secretOf(id), signatures: [...(service.signatures.get(id) ?? [])], codes, messages }];
  });
  return {
    faults: new Map(faults),
    places: new Map([
      ['log', lines.join('')],
      ['errors', errors.join('\n')],
      ['Redis', stored],
      ["Redis's files", textOf(redis.folder)],
      ["the ledger's files", textOf(join(config.ledger.path, '..'))],
      ['pages', pages],
      ['receivers', receivers.taken()],
      ['processes', processes],
    ]),
  };
}

async function startRedisWithPassword(): Promise<{ url: string; client: Redis; folder: string }> {
  const folder = temporaryFolder();
  const server = await startPrivateRedis({ dir: folder, logger: createLogger({ level: 'silent' }) });
  onTestFinished(() => server.close());
  const client = clientOf(server.target);
  const port = await freePort();
  await client.config('SET', 'port', String(port));
  await client.config('SET', 'requirepass', SHARED_SECRETS.redis);
  // The server is asked to end without a password.
  onTestFinished(async () => {
    await client.config('SET', 'requirepass', '');
    client.disconnect();
  });
  return { url: `redis://:${SHARED_SECRETS.redis}@127.0.0.1:${port}/0`, client, folder };
}

/** Every key with its value, whatever its type. */
async function dumpRedis(client: Redis): Promise<string> {
  const parts: string[] = [];
  for (const key of await client.keys('*')) {
    const type = await client.type(key);
    const read: Record<string, () => Promise<unknown>> = {
      string: () => client.get(key),
      hash: () => client.hgetall(key),
      list: () => client.lrange(key, 0, -1),
      set: () => client.smembers(key),
      zset: () => client.zrange(key, '0', '-1'),
      stream: () => client.xrange(key, '-', '+'),
    };
    parts.push(`${key} ${JSON.stringify(await read[type]?.())}`);
  }
  return parts.join('\n');
}

/** What the daemon's pages say to those who know the token, the board's lists of jobs included. */
async function readPages(config: Config): Promise<string> {
  const states = ['latest', 'failed', 'completed', 'delayed'];
  const lists = ['sync', 'deliver'].flatMap((queue) =>
    states.map((state) => `/admin/queues/api/queues?activeQueue=${queue}&status=${state}&page=1&jobsPerPage=200`),
  );
  const parts: string[] = [];
  for (const path of ['/healthz', '/readyz', '/metrics', '/admin/queues', ...lists]) {
    const headers = { authorization: `Bearer ${SHARED_SECRETS.http}` };
    const answer = await fetch(`http://127.0.0.1:${config.http.port}${path}`, { headers });
    expect([200, 503], path).toContain(answer.status);
    parts.push(path.replace(/\?.*/, ''), await answer.text());
  }
  const all = parts.join('\n');
  expect(all, 'failed jobs are on the board').toContain('failedReason');
  return all;
}

/** The command lines that anybody on the machine can see. */
function readProcesses(): string {
  const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return ids.map((id) => readIfThere(`/proc/${id}/cmdline`)).join('\n');
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

function textOf(folder: string): string {
  return (
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      // Redis replaces files of its own at any time.
      .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
      .map(readIfThere)
      .join('\n')
  );
}
