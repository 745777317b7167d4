import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type Clock, nextTurn, sleep } from '../../core/clock.ts';
import { summarizeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { parseNumbers, stringifyExact } from '../../core/text/exact-json.ts';
import type { FaultAction, FaultQueue } from '../world/faults.ts';
import { type Envelope, failure, parseCall, type Reply, type SandboxCall } from './call.ts';
import type { RequestRecord, RequestRecorder } from './request-log.ts';
import type { Router } from './router.ts';

export interface HandlerContext {
  clock: Clock;
  route: Router;
  faults: FaultQueue;
  requests: RequestRecorder;
  latencyMs: number;
  /** Aborted when the stand-in closes: ends all waiting. */
  stopping: AbortSignal;
  logger: Logger | null;
}

/** How late a timer may be. */
const TIMER_SLACK_MS = 2;

/** One request on its way: what came, what is kept of it, what strikes it and where the answer goes. */
interface Exchange {
  call: SandboxCall;
  request: IncomingMessage;
  response: ServerResponse;
  record: RequestRecord;
  actions: readonly FaultAction[];
}

/** The request handler: record, wait, strike with faults, route, answer. What it throws itself is answered with 500. */
export function createRequestHandler(context: HandlerContext): RequestListener {
  const { clock, faults, requests, latencyMs, stopping, logger } = context;
  const dateHeader = createDateHeader(clock);

  async function serve(exchange: Exchange): Promise<void> {
    const { actions, call, request } = exchange;
    if (latencyMs > 0) await waitPrecisely(clock, latencyMs, stopping);
    for (const action of actions) {
      if (action.type === 'delay') await sleep(clock, action.delayMs, stopping);
      if (action.type === 'before') await action.run(call);
    }
    const ending = actions.at(-1);
    if (ending?.type === 'reset') request.socket.destroy();
    else send(exchange, substitute(ending) ?? mutate(await context.route(call, request), actions, call), dateHeader());
  }

  function fail(exchange: Exchange, error: unknown): void {
    if (stopping.aborted) return;
    const summary = summarizeError(error);
    logger?.error({ error: summary, endpoint: exchange.call.endpoint }, 'the stand-in failed to answer');
    if (exchange.response.headersSent) exchange.request.socket.destroy();
    else send(exchange, failure(500, `The stand-in failed: ${summary.message}`), dateHeader());
  }

  return (request, response) => {
    const call = parseCall(request.method ?? '', request.url ?? '');
    const { method, path, rawQuery: query, endpoint } = call;
    const record = requests.begin({ method, path, query, endpoint }, request.headers);
    const exchange = { call, request, response, record, actions: faults.take(call) };
    response.once('close', () => {
      requests.end();
      logger?.debug({ method, path, query, status: record.status }, 'request');
    });
    serve(exchange).catch((error: unknown) => fail(exchange, error));
  };
}

/**
 * Waits as long as asked, to a fraction of a millisecond. Timers fire one to two milliseconds late, and all that are due
 * by then at once: answers to requests that came one after the other would leave together.
 */
async function waitPrecisely(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const untilMs = clock.monotonic() + ms;
  if (ms > TIMER_SLACK_MS) await sleep(clock, ms - TIMER_SLACK_MS, signal);
  while (clock.monotonic() < untilMs) {
    signal.throwIfAborted();
    await nextTurn();
  }
}

/** The answer that a fault gives in the route's place; null when it lets the request go on. */
function substitute(action: FaultAction | undefined): Reply | null {
  if (action?.type === 'status') {
    return failure(action.status, action.message ?? `InjectedFault with status ${action.status}`, action.headers);
  }
  if (action?.type === 'body') {
    const headers = { 'Content-Type': action.contentType ?? 'text/html; charset=utf-8', ...action.headers };
    return { status: action.status ?? 200, body: action.body, headers };
  }
  return null;
}

function mutate(reply: Reply, actions: readonly FaultAction[], call: SandboxCall): Reply {
  let { body } = reply;
  for (const action of actions) {
    if (action.type !== 'mutate') continue;
    const envelope = parseNumbers(String(body), exactNumber) as Envelope;
    body = stringifyExact(action.mutate(envelope, call));
  }
  return { ...reply, body };
}

function exactNumber(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) || !/^-?\d+$/.test(text) ? value : BigInt(text);
}

function send({ request, response, record, actions }: Exchange, reply: Reply, date: string): void {
  if (response.destroyed) return;
  const { status } = reply;
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : reply.body;
  record.status = status;
  response.sendDate = false;
  response.writeHead(status, {
    Date: date,
    'Content-Type': 'application/json',
    'Content-Length': body.length,
    ...reply.headers,
  });
  const truncation = actions.find((action) => action.type === 'truncate');
  if (truncation === undefined) {
    response.end(body);
    return;
  }
  const keep = Math.min(truncation.keepBytes ?? Math.floor(body.length / 2), body.length - 1);
  response.write(body.subarray(0, Math.max(1, keep)), () => request.socket.destroy());
}

/** The Date header, made once per second. */
function createDateHeader(clock: Pick<Clock, 'now'>): () => string {
  let second = Number.NaN;
  let text = '';
  return () => {
    const now = Math.floor(clock.now() / 1_000);
    if (now !== second) {
      second = now;
      text = new Date(now * 1_000).toUTCString();
    }
    return text;
  };
}
