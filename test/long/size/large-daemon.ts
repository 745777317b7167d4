import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { type LedgerSize, ledgerSettings, makeLedger } from '../../support/large-ledger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ProbedDaemon, type Reading } from './probed-daemon.ts';

export const TOKEN = 'finance-token-of-the-large-daemon';
/** The token that asks for runs: each token has its own limit of requests. */
const WATCHER = 'operate-token-of-the-large-daemon';
/** The one workspace that is read while others are looked at. */
const BUSY = { id: 'busy', api_key_id: 'ak_busy', secret_key: 'sk_busy_not_a_secret' };
const BUSY_TENANTS = 10_000;
const BUSY_MONTHS = 10;
/** Rare enough that endless syncs stay below the limit of requests. */
const POLL_MS = 200;
/** Longer than any watch of the daemon takes after its start. */
const SETTLING_MS = 5_000;
/** The probe counts a turn of the event loop when the next one begins. */
const TURN_MS = 40;

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  bytes: number;
  ms: number;
}

export interface Question {
  method?: string;
  headers?: Record<string, string>;
  body?: unknown;
  /** Counts the bytes of the answer without keeping them. */
  drop?: boolean;
}

/** Several requests for the same. */
export interface Measured {
  status: number;
  bytes: number;
  /** The least time that one of them took. */
  leastMs: number;
  /**
   * What each of them took: the time by the clock or the processor time of the main thread, whichever is shorter. On a
   * busy machine a request takes longer by the clock, and a sync takes processor time beside it.
   */
  costsMs: number[];
  /** The median of the processor time. */
  cpuMs: number;
  /** The median and the maximum of the longest turns of the event loop. */
  workedMs: number;
  mostWorkedMs: number;
}

export interface LargeDaemon {
  daemon: ProbedDaemon;
  ask(path: string, question?: Question): Promise<Answer>;
  /** Asks several times, one after the other. */
  measure(path: string, question?: Question, times?: number): Promise<Measured>;
  /** Reads the busy workspace once; returns how long the run took, in milliseconds. */
  sync(): Promise<number>;
}

/** The daemon of a ledger of this size, beside a service for the workspace that `sync` reads. Ends with the test. */
export async function startLargeDaemon(size: LedgerSize): Promise<LargeDaemon> {
  const folder = temporaryFolder();
  printProgress('making the ledger');
  const records = await makeLedger(join(folder, 'data', 'ledger.db'), size, Date.now());
  printProgress(`made ${records} records`);
  const sandbox = await startSandbox({
    keepRequests: 0,
    cacheBytes: 2 ** 27,
    scenario: {
      workspaces: [
        { ...BUSY, generate: { seed: 1, tenants: BUSY_TENANTS, months: BUSY_MONTHS, open_month: 'at_start' } },
      ],
    },
  });
  onTestFinished(() => sandbox.close());
  const settings = ledgerSettings(size);
  const busy = { ...BUSY, base_url: sandbox.url, embed_url: sandbox.url, requests_per_second: 100_000 };
  writeFileSync(
    join(folder, 'usage-ledger.yml'),
    stringify({
      ...settings,
      http: { port: await freePort(), tokens: tokens() },
      workspaces: [...settings.workspaces, busy],
    }),
    { mode: 0o600 },
  );
  const daemon = await ProbedDaemon.start(folder);
  onTestFinished(() => daemon.stop());
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const ask = (path: string, question: Question = {}) => send(`${daemon.url}${path}`, agent, question);
  const headers = { authorization: `Bearer ${WATCHER}` };
  const watch = (path: string, question: Question = {}) => ask(path, { ...question, headers });
  const sync = async (): Promise<number> => {
    const before = await lastRun(watch);
    for (let isQueued = false; ; ) {
      // The job of the previous run ends shortly after it, and takes requests until then.
      if (!isQueued) {
        const { text } = await watch(`/api/v1/workspaces/${BUSY.id}/sync`, { method: 'POST' });
        isQueued = JSON.parse(text).state === 'queued';
      }
      const run = await lastRun(watch);
      if (run !== null && run.run_id !== before?.run_id && run.finished_at !== null) {
        if (run.status !== 'applied') throw new Error(`the run failed: ${JSON.stringify(run)}`);
        return Date.parse(run.finished_at) - Date.parse(run.started_at);
      }
      await sleep(POLL_MS);
    }
  };
  await sync();
  await sleep(SETTLING_MS);
  printProgress('the daemon serves');
  return {
    daemon,
    ask,
    sync,
    async measure(path, question, times = 5) {
      const readings: (Reading & { ms: number })[] = [];
      let last: Answer | null = null;
      // The first answer fills what is kept for the next ones.
      for (let time = 0; time <= times; time += 1) {
        await sleep(TURN_MS);
        await daemon.read();
        last = await ask(path, question);
        const during = await daemon.read();
        await sleep(TURN_MS);
        const { workedMs } = await daemon.read();
        if (time > 0) readings.push({ ...during, workedMs: Math.max(workedMs, during.workedMs), ms: last.ms });
      }
      return {
        status: last?.status ?? 0,
        bytes: last?.bytes ?? 0,
        leastMs: Math.min(...readings.map(({ ms }) => ms)),
        costsMs: readings.map(({ ms, cpuMs }) => Math.min(ms, cpuMs)),
        cpuMs: median(readings.map(({ cpuMs }) => cpuMs)),
        workedMs: median(readings.map(({ workedMs }) => workedMs)),
        mostWorkedMs: Math.max(...readings.map(({ workedMs }) => workedMs)),
      };
    },
  };
}

/** Prints a step with the time since the process started. */
export function printProgress(step: string): void {
  process.stdout.write(`${Math.round(performance.now() / 1000)} s: ${step}\n`);
}

function tokens() {
  return [
    { name: 'large', role: 'finance', token: TOKEN },
    { name: 'watcher', role: 'operate', token: WATCHER },
  ];
}

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Returns the value below which `percent` of the values are. */
export function percentile(values: readonly number[], percent: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length * percent) / 100)] ?? 0;
}

interface LastRun {
  run_id: string;
  status: string;
  started_at: string;
  finished_at: string | null;
}

async function lastRun(ask: LargeDaemon['ask']): Promise<LastRun | null> {
  const { status, text } = await ask(`/api/v1/runs/latest?workspace=${BUSY.id}&limit=1`);
  // Before its first run, the ledger does not know the workspace.
  if (status === 400) return null;
  if (status !== 200) throw new Error(`the runs cannot be read: ${text}`);
  return (JSON.parse(text).runs[0] as LastRun | undefined) ?? null;
}

async function send(url: string, agent: Agent, { method = 'GET', headers, body, drop }: Question): Promise<Answer> {
  const startMs = performance.now();
  const sent = request(url, {
    agent,
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = await once(sent, 'response');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.length;
    if (drop !== true) chunks.push(chunk);
  }
  const ms = performance.now() - startMs;
  return { status: response.statusCode, headers: response.headers, text: Buffer.concat(chunks).toString(), bytes, ms };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
  return address.port;
}
