import { setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { stringify } from 'yaml';
import { type Clock, nextTurn, sleep, systemClock, type WallClock } from '../core/clock.ts';
import { AppError, messageOf } from '../core/errors.ts';
import { parseJsonNumbers, stringifyExact } from '../core/text/exact-json.ts';
import { createSignatureChecker, type SandboxKey } from './requests/auth.ts';
import {
  type Endpoint,
  type Envelope,
  failureReply,
  parseRequest,
  type Reply,
  type SandboxRequest,
} from './requests/call.ts';
import { createRouter, type Router } from './requests/router.ts';
import { createUsageRoute } from './requests/usage-routes.ts';
import { createFaultQueue, type FaultAction, type FaultControl, type FaultQueue } from './world/faults.ts';
import { createGenerator } from './world/generate.ts';
import {
  checkScenario,
  defaultScenario,
  type Scenario,
  type ScenarioInput,
  type ScenarioWorkspace,
} from './world/scenario.ts';
import { type ListingOrder, SandboxWorkspace } from './world/store.ts';

/** Longer than clients keep idle connections: otherwise the server might close a connection while a request arrives. */
const KEEP_ALIVE_MS = 120_000;

const LISTING_ORDERS: Record<ScenarioWorkspace['order'], (seed: number) => ListingOrder> = {
  by_period: () => ({ by: 'period' }),
  shuffled: (seed) => ({ by: 'hash', seed }),
  credits: () => ({ by: 'credits' }),
};

export interface SandboxOptions {
  port?: number;
  scenario?: ScenarioInput;
  clock?: Clock;
  latencyMs?: number;
  /** How many of the latest requests `requests.records` keeps. Default 10,000; with 0, requests are only counted. */
  keepRequests?: number;
  /** Size of the cache for usage responses that cannot change, for load tests. Default 0: no cache. */
  cacheBytes?: number;
}

export interface Sandbox {
  /** The base and embed URL, such as `http://127.0.0.1:43210`. */
  readonly url: string;
  readonly port: number;
  readonly scenario: Scenario;
  /** Workspaces by id, in the order of the scenario. */
  readonly workspaces: ReadonlyMap<string, SandboxWorkspace>;
  /** The accepted API keys by id. Tests may replace them. */
  readonly keys: Map<string, SandboxKey>;
  readonly requests: RequestLog;
  readonly faults: FaultControl;
  /** Returns the workspace with this id, or the first one by default. Throws `sandbox_workspace_unknown`. */
  workspace(id?: string): SandboxWorkspace;
  /** Closes all connections, even those whose request has not been answered. May be called twice. */
  close(): Promise<void>;
}

/**
 * Starts the sandbox on 127.0.0.1. Throws ConfigError for an invalid scenario and `sandbox_port` if the port is
 * unavailable.
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const scenario = checkScenario(options.scenario ?? defaultScenario);
  const clock = options.clock ?? systemClock;
  const workspaces = buildWorkspaces(scenario, clock);
  const keys = buildKeys(scenario, workspaces);
  const faults = createFaultQueue();
  const requests = new RequestLog(options.keepRequests ?? 10_000);
  const stopping = new AbortController();
  // Every waiting request adds a listener, so Node's warning about many listeners is turned off.
  setMaxListeners(0, stopping.signal);
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS },
    createRequestHandler({
      clock,
      route: createRouter({
        clock,
        keys,
        checker: createSignatureChecker(keys, scenario.signing, clock),
        answerUsage: createUsageRoute(options.cacheBytes ?? 0),
      }),
      faults,
      requests,
      latencyMs: options.latencyMs ?? 0,
      stopping: stopping.signal,
    }),
  );
  const port = await listenOn(server, options.port ?? 0);
  let closed: Promise<void> | null = null;

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    scenario,
    workspaces,
    keys,
    requests,
    faults,
    workspace(id) {
      const found = id === undefined ? workspaces.values().next().value : workspaces.get(id);
      if (found !== undefined) return found;
      throw new AppError('sandbox_workspace_unknown', `the scenario has no workspace ${JSON.stringify(id)}`, {
        hint: `it has ${[...workspaces.keys()].join(', ')}`,
      });
    },
    close() {
      closed ??= new Promise<void>((resolve, reject) => {
        stopping.abort();
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      });
      return closed;
    },
  };
}

function buildWorkspaces(scenario: Scenario, clock: WallClock): Map<string, SandboxWorkspace> {
  const workspaces = new Map<string, SandboxWorkspace>();
  for (const { id, usage, generate, order } of scenario.workspaces) {
    const workspace = new SandboxWorkspace({
      id,
      clock,
      generator: generate === undefined ? null : createGenerator(generate, clock.now()),
      order: LISTING_ORDERS[order](generate?.seed ?? 1),
    });
    for (const { tenant_id, period, credits_used, request_count } of usage) {
      workspace.set({ tenantId: tenant_id, period, credits: credits_used, requests: request_count });
    }
    workspaces.set(id, workspace);
  }
  return workspaces;
}

function buildKeys(scenario: Scenario, workspaces: ReadonlyMap<string, SandboxWorkspace>): Map<string, SandboxKey> {
  const keys = new Map<string, SandboxKey>();
  for (const { id, api_key_id, secret_key } of scenario.workspaces) {
    const workspace = workspaces.get(id);
    if (workspace !== undefined) keys.set(api_key_id, { id: api_key_id, secret: secret_key, workspace });
  }
  return keys;
}

function listenOn(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (cause: Error): void => {
      reject(
        new AppError('sandbox_port', `cannot listen on 127.0.0.1:${port}: ${cause.message}`, {
          hint: 'choose another port, or 0 for any free one',
          cause,
        }),
      );
    };
    server.once('error', onError);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', onError);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/**
 * Returns the lines of the `workspaces:` block for `usage-ledger.yml` that makes the daemon read this sandbox. They
 * contain the scenario's made-up secrets.
 */
export function describeSandbox(sandbox: Sandbox): string[] {
  const workspaces = sandbox.scenario.workspaces.map((workspace) => ({
    id: workspace.id,
    ...(workspace.name === undefined ? {} : { name: workspace.name }),
    base_url: sandbox.url,
    embed_url: sandbox.url,
    api_key_id: workspace.api_key_id,
    secret_key: workspace.secret_key,
    signing: { ...sandbox.scenario.signing },
  }));
  return stringify({ workspaces }).trimEnd().split('\n');
}

interface HandlerContext {
  clock: Clock;
  route: Router;
  faults: FaultQueue;
  requests: RequestLog;
  latencyMs: number;
  stopping: AbortSignal;
}

const TIMER_SLACK_MS = 2;

/** A request in progress, with its log record and the faults that apply to it. */
interface SandboxExchange {
  call: SandboxRequest;
  request: IncomingMessage;
  response: ServerResponse;
  record: RequestRecord;
  actions: readonly FaultAction[];
}

/**
 * Creates the function that records, delays, routes and answers requests. It answers errors of its own with status 500.
 */
function createRequestHandler(context: HandlerContext): RequestListener {
  const { clock, faults, requests, latencyMs, stopping } = context;
  const dateHeader = createDateHeader(clock);

  async function serve(exchange: SandboxExchange): Promise<void> {
    const { actions, call, request } = exchange;
    if (latencyMs > 0) await waitPrecisely(clock, latencyMs, stopping);
    for (const action of actions) {
      if (action.type === 'delay') await sleep(clock, action.delayMs, stopping);
      if (action.type === 'before') await action.run(call);
    }
    const ending = actions.at(-1);
    if (ending?.type === 'reset') request.socket.destroy();
    else
      sendReply(
        exchange,
        replacementReply(ending) ?? mutate(await context.route(call, request), actions, call),
        dateHeader(),
      );
  }

  function fail(exchange: SandboxExchange, error: unknown): void {
    if (stopping.aborted) return;
    if (exchange.response.headersSent) exchange.request.socket.destroy();
    else sendReply(exchange, failureReply(500, `The sandbox failed: ${messageOf(error)}`), dateHeader());
  }

  return (request, response) => {
    const call = parseRequest(request.method ?? '', request.url ?? '');
    const { method, path, rawQuery: query, endpoint } = call;
    const record = requests.begin({ method, path, query, endpoint });
    const exchange = { call, request, response, record, actions: faults.take(call) };
    serve(exchange).catch((error: unknown) => fail(exchange, error));
  };
}

/**
 * Waits with a precision of a fraction of a millisecond. Timers alone fire one or two milliseconds late and several at
 * a time, so that responses to successive requests would be sent at the same moment.
 */
async function waitPrecisely(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const untilMs = clock.monotonic() + ms;
  if (ms > TIMER_SLACK_MS) await sleep(clock, ms - TIMER_SLACK_MS, signal);
  while (clock.monotonic() < untilMs) {
    signal.throwIfAborted();
    await nextTurn();
  }
}

/** Returns the response of a fault that replaces the normal response; null if the request is processed normally. */
function replacementReply(action: FaultAction | undefined): Reply | null {
  if (action?.type === 'status') {
    return failureReply(action.status, action.message ?? `InjectedFault with status ${action.status}`, action.headers);
  }
  if (action?.type === 'body') {
    const headers = { 'Content-Type': action.contentType ?? 'text/html; charset=utf-8', ...action.headers };
    return { status: action.status ?? 200, body: action.body, headers };
  }
  return null;
}

function mutate(reply: Reply, actions: readonly FaultAction[], call: SandboxRequest): Reply {
  let { body } = reply;
  for (const action of actions) {
    if (action.type !== 'mutate') continue;
    const envelope = parseJsonNumbers(String(body), parseExactNumber) as Envelope;
    body = stringifyExact(action.mutate(envelope, call));
  }
  return { ...reply, body };
}

function parseExactNumber(text: string): number | bigint {
  const value = Number(text);
  return Number.isSafeInteger(value) || !/^-?\d+$/.test(text) ? value : BigInt(text);
}

function sendReply({ request, response, record, actions }: SandboxExchange, reply: Reply, date: string): void {
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

/** Creates a function that returns the value of the Date header. It is formatted only once per second. */
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

/** The log record of a request. It never contains header values or bodies. */
interface RequestRecord {
  method: string;
  path: string;
  query: string;
  endpoint: Endpoint | null;
  /** The status of the response; null until it is sent, and for ever if the connection was closed without one. */
  status: number | null;
}

/** A log of the latest requests. It keeps at least `limit` and at most twice as many; with 0 it only counts them. */
class RequestLog {
  /** The number of requests since the start or the last `clear`, including discarded ones. */
  count = 0;
  /** The latest requests, oldest first: `limit` of them or more. */
  records: RequestRecord[] = [];
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  clear(): void {
    this.count = 0;
    this.records = [];
  }

  begin(request: Omit<RequestRecord, 'status'>): RequestRecord {
    this.count += 1;
    const record: RequestRecord = { ...request, status: null };
    if (this.#limit === 0) return record;
    if (this.records.length >= 2 * this.#limit) this.records = this.records.slice(-this.#limit);
    this.records.push(record);
    return record;
  }
}
