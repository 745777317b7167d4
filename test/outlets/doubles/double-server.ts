import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import Big from 'big.js';
import { Random } from '../../support/random.ts';

/** What the doubles of billing systems share: a server on loopback, its faults, and what an oracle reads of it. */
export interface DoubleOptions {
  /** The clock of the billing system, which need not be the sender's. */
  now: () => number;
  /** This share of the calls fails, each time in one of the ways of `FAULTS`. */
  faults?: { seed: number; share: number } | undefined;
  /** Calls in one second of its clock; absent: as its documentation says. */
  callsPerSecond?: number;
}

/** An event that counts. An id that was counted twice stands there twice. */
export interface Held {
  id: string;
  customer: string;
  atMs: number;
  value: string;
  countedMs: number;
}

export interface Question {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface Reply {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Double {
  url: string;
  held: Held[];
  /** Each call that was read whole, with the status that it was meant to get. */
  calls: (Question & { status: number })[];
  /** Stops or changes the faults from now on. */
  setFaults(faults: DoubleOptions['faults']): void;
  /** The exact sum of each customer in each month (UTC) as `customer YYYY-MM`; one that is zero is left out. */
  sums(): Record<string, string>;
  /** How often each id was counted. */
  countedTimes(): Map<string, number>;
  close(): Promise<void>;
}

export interface Behaviour {
  /** The bearer token that is right for a call; null: this one needs none. */
  token(question: Question): string | null;
  unauthorized(question: Question): Reply;
  callsPerSecond: number;
  tooMany: Reply;
  answer(question: Question, held: Held[]): Reply;
  /** What it does before it breaks down with a 500; absent: nothing. */
  breakDown?(question: Question, held: Held[]): void;
}

/** Two of the five have taken the events. */
const FAULTS = ['cut before', 'cut after', '500 before', '500 after', '429'] as const;

export async function startDouble(options: DoubleOptions, behaviour: Behaviour): Promise<Double> {
  const held: Held[] = [];
  const calls: Double['calls'] = [];
  const perSecond = options.callsPerSecond ?? behaviour.callsPerSecond;
  let random = new Random(options.faults?.seed ?? 0);
  let share = options.faults?.share ?? 0;
  let second = { at: Number.NaN, calls: 0 };

  const reply = (question: Question): Reply => {
    const token = behaviour.token(question);
    if (token !== null && question.headers.authorization !== `Bearer ${token}`) return behaviour.unauthorized(question);
    const at = Math.floor(options.now() / 1000);
    second = second.at === at ? { at, calls: second.calls + 1 } : { at, calls: 1 };
    return second.calls > perSecond ? behaviour.tooMany : behaviour.answer(question, held);
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const question = await questionOf(request);
    const fault = random.chance(share) ? random.pick(FAULTS) : null;
    if (fault === 'cut before') return void request.socket.destroy();
    if (fault === '429') return send(response, behaviour.tooMany);
    if (fault === '500 before') {
      behaviour.breakDown?.(question, held);
      return send(response, { status: 500, body: 'upstream connect error' });
    }
    const answer = reply(question);
    calls.push({ ...question, status: answer.status });
    if (fault === 'cut after') request.socket.destroy();
    else send(response, fault === null ? answer : { status: 500, body: 'upstream connect error' });
  };

  const server = createServer(
    (request, response) => void serve(request, response).catch(() => request.socket.destroy()),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    held,
    calls,
    setFaults(faults) {
      random = new Random(faults?.seed ?? 0);
      share = faults?.share ?? 0;
    },
    sums: () => sumsOf(held),
    countedTimes: () => countById(held),
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Ids that are counted once only within `windowMs` after they were counted. */
export class Memory {
  readonly #seen = new Map<string, number>();
  readonly #windowMs: number;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  has(id: string, nowMs: number): boolean {
    const seenMs = this.#seen.get(id);
    return seenMs !== undefined && nowMs - seenMs < this.#windowMs;
  }

  add(id: string, nowMs: number): void {
    this.#seen.set(id, nowMs);
  }
}

/** The sum of what was counted for a customer from a time (included) to another (excluded). */
export function sumBetween(held: readonly Held[], customer: string, fromMs: number, toMs: number): Big {
  return held
    .filter((event) => event.customer === customer && event.atMs >= fromMs && event.atMs < toMs)
    .reduce((sum, { value }) => sum.plus(value), new Big(0));
}

function sumsOf(held: readonly Held[]): Record<string, string> {
  const sums = new Map<string, Big>();
  for (const { customer, atMs, value } of held) {
    const key = `${customer} ${new Date(atMs).toISOString().slice(0, 7)}`;
    sums.set(key, (sums.get(key) ?? new Big(0)).plus(value));
  }
  const sorted = [...sums].filter(([, sum]) => !sum.eq(0)).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([key, sum]) => [key, sum.toFixed()]));
}

function countById(held: readonly Held[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { id } of held) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

async function questionOf(request: IncomingMessage): Promise<Question> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://double');
  return {
    method: request.method ?? '',
    path: decodeURIComponent(pathname),
    query: searchParams,
    headers: request.headers,
    text: (request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString('utf8'),
  };
}

function send(response: ServerResponse, { status, body, headers = {} }: Reply): void {
  const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/plain' : 'application/json';
  response.writeHead(status, text === '' ? headers : { 'content-type': type, ...headers });
  response.end(text);
}
