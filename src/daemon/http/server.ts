import type { Queue } from 'bullmq';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { AcknowledgeRequest } from '../../alerts/actions.ts';
import type { Config } from '../../config/types.ts';
import { type Clock, systemClock } from '../../core/clock.ts';
import { AppError, messageOf, summarizeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Redactor } from '../../core/text/redact.ts';
import { checkpointKeyPath, deriveLinkSecret } from '../../ledger/audit/anchor/checkpoint-log.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import { urlOf } from '../../net/local-address.ts';
import type { SyncQueue } from '../../queue/sync-queue.ts';
import type { ExportStatus } from '../../reports/files/export-folder.ts';
import type { Context } from '../../wiring/context.ts';
import { type ApiOptions, addApi, REQUESTS_PER_MINUTE } from '../api/api-routes.ts';
import { ApiError, sendProblem } from '../api/problem.ts';
import { SlowReads } from '../api/slow-reads.ts';
import { type AcknowledgeOptions, addAcknowledging } from '../console/acknowledge/acknowledge-routes.tsx';
import { addConsole } from '../console/console.tsx';
import type { ConsoleOptions } from '../console/console-pages.ts';
import { readWorkspaces } from '../console/overview/read-overview.ts';
import { ASSETS_PATH } from '../console/shell/assets.ts';
import { OidcSignIn } from '../console/sign-in/oidc/oidc-sign-in.ts';
import { ProxySignIn } from '../console/sign-in/proxy-sign-in.ts';
import { Sessions, type SessionToken } from '../console/sign-in/sessions.ts';
import { enqueueManualRun } from '../manual-runs.ts';
import { addGuards, METRICS_PATH } from './guards.ts';
import { createMeasurements, type Measurements } from './measurements.ts';
import { createMetrics } from './metrics.ts';
import { makePagesToken } from './pages-token.ts';
import type { HealthProbe } from './probe.ts';
import { QUEUE_BOARD_PATH, registerQueueBoard } from './queue-board.ts';
import { readiness } from './readiness.ts';
import { isApi, placeOf, refuse } from './refusal.ts';
import { createReportMaker, type ReportMaker } from './reports/report-maker.ts';

const REQUEST_TIMEOUT_MS = 10_000;
/**
 * How long an idle connection stays open. It is longer than clients and proxies keep theirs: Caddy 120 s, Go and
 * Traefik 90 s, nginx and load balancers 60 s. A request that is sent while the server closes the connection would fail
 * with ECONNRESET.
 */
const IDLE_CONNECTION_MS = 125_000;
/** Ids have up to 1,024 characters, each of up to four bytes as `%XX`. */
const MAX_PARAMETER_LENGTH = 12_288;
/** The actor that is recorded for a caller with the token of the pages. */
const PAGES_CALLER = 'pages';

/** No route has a schema, so Fastify's two schema compilers are not loaded. */
const WITHOUT_SCHEMAS = {
  schemaController: { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } },
};

/** Forbids framing, caching and external resources. bull-board's page needs inline styles and a worker. */
const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
    "connect-src 'self'; worker-src 'self' blob:; base-uri 'self'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

export interface HttpServerOptions {
  host: string;
  /** 0 takes any free port. (In the configuration `http.port: 0` means off; the caller handles that.) */
  port: number;
  /** Returns the token that every page except /healthz and /readyz requires. */
  token: () => string;
  /** Returns true if /metrics needs no token, either. */
  openMetrics: () => boolean;
  logger: Logger;
  version: string;
  probe: HealthProbe;
  measured: Measurements;
  queues: readonly Queue[];
  reports: ReportMaker;
  /** The tokens of `http.tokens`. */
  apiTokens: () => Config['http']['tokens'];
  /** Options of the API; null if the API is not served. */
  api: ApiOptions | null;
  /** Options of the page that acknowledges alerts; null if the page is not served. */
  acknowledging: AcknowledgeOptions | null;
  /** Options of the console; null if the console is not served. */
  console: Pick<ConsoleOptions, 'context' | 'publicUrl' | 'enqueueSync' | 'pagesPerMinute'> | null;
  /** The clock that measures how long a session lasts. */
  sessionClock?: Pick<Clock, 'monotonic'>;
}

export interface HttpServer {
  readonly url: string;
  /** Stops immediately and cuts open connections. May be called twice. */
  close(): Promise<void>;
}

/**
 * Serves the console, `/report`, `/healthz`, `/readyz`, `/metrics` and `/admin/queues`; resolves once the server
 * listens, and rejects with `http_port` if it cannot listen. On a loopback address, the server answers only requests
 * with a loopback Host header, even if they have a token.
 */
export async function startHttp(options: HttpServerOptions): Promise<HttpServer> {
  const { host, port, logger } = options;
  const app = fastify({
    forceCloseConnections: true,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    frameworkErrors: (error, request, reply) =>
      refuse(request, reply, responseStatus(error), {
        code: 'bad_request',
        detail: error.message,
        hint: 'percent-encode each part of the path',
      }),
    ...WITHOUT_SCHEMAS,
  });
  try {
    const sessions = new Sessions(options.sessionClock ?? systemClock);
    const tokens = (): SessionToken[] => [
      ...options.apiTokens(),
      { name: PAGES_CALLER, role: 'finance', token: options.token() },
    ];
    const config = (): Config | null => options.console?.context.config ?? null;
    const oidc = new OidcSignIn({
      settings: () => config()?.http.oidc ?? null,
      proxy: () => config()?.proxy ?? null,
      clock: systemClock,
      attemptClock: options.sessionClock ?? systemClock,
    });
    const proxySignIn = new ProxySignIn(() => config()?.http.proxySignIn ?? null, logger);
    const console = options.console === null ? null : { provider: () => oidc.provider() };
    addGuards(app, { ...options, sessions, tokens, proxySignIn, console });
    addRequestLog(app, logger);
    addCommonHandlers(app, logger, options.api?.context.redact);
    addPages(app, options);
    const slowReads = new SlowReads();
    app.addHook('onClose', () => slowReads.stop());
    if (options.console !== null) {
      await addConsole(app, { ...options, ...options.console, sessions, tokens, oidc, slowReads });
    }
    app.addHook('onClose', () => oidc.close());
    if (options.api !== null) await addApi(app, { ...options.api, slowReads });
    if (options.acknowledging !== null) await addAcknowledging(app, options.acknowledging);
    app.addHook('onClose', () => options.reports.stop());
    addQueueBoard(app, options);
    await app.listen({ host: host.replace(/^\[(.*)\]$/, '$1'), port }).catch((error: NodeJS.ErrnoException) => {
      throw listenError(host, port, error);
    });
  } catch (error) {
    await app.close();
    throw error;
  }
  const url = urlOf(host, portOf(app));
  logger.info({ url }, 'serving pages, API, health and metrics');
  return { url, close: () => app.close() };
}

function refuseSchema(): never {
  throw new Error('a route has a schema, but the schema compilers are disabled: remove WITHOUT_SCHEMAS first');
}

function addRequestLog(app: FastifyInstance, logger: Logger): void {
  app.addHook('onResponse', async (request, reply) => {
    const [path] = request.url.split('?', 1);
    logger.debug({ method: request.method, path, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, 'http');
  });
}

/** Adds the security headers and error handlers of all responses, including bull-board's. */
function addCommonHandlers(app: FastifyInstance, logger: Logger, redact: Redactor = (text) => text): void {
  app.addHook('onSend', async (request, reply) => {
    // Pages with forms set these two headers themselves.
    const own = ['content-security-policy', 'referrer-policy'];
    // The API and the console's assets set this header themselves, because their answers may be cached.
    if (isApi(request) || request.url.startsWith(`${ASSETS_PATH}/`)) own.push('cache-control');
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
      if (!own.includes(name) || !reply.hasHeader(name)) reply.header(name, value);
    }
  });
  app.setNotFoundHandler((request, reply) =>
    refuse(request, reply, 404, {
      code: 'not_found',
      detail: `there is no ${placeOf(request)}`,
      hint: 'see /api for the paths and their methods',
    }),
  );
  app.setErrorHandler((error, request, reply) => {
    const status = responseStatus(error);
    if (!isApi(request) && status < 500) return reply.code(status).send({ error: 'bad_request' });
    if (isApi(request) && (error instanceof AppError || status < 500)) {
      return sendProblem(reply, error instanceof AppError ? error : badRequestOf(error, status, request), redact);
    }
    const stack = error instanceof Error ? error.stack : undefined;
    logger.error({ path: request.routeOptions.url, reason: summarizeError(error).message, stack }, 'http page failed');
    return isApi(request) ? sendProblem(reply, error, redact) : reply.code(status).send({ error: 'internal' });
  });
}

/** Converts an error of the HTTP library, such as that of a body that is too large, into an error of the API. */
function badRequestOf(error: unknown, status: number, { headers }: FastifyRequest): ApiError {
  if (status === 415) {
    const type = JSON.stringify(headers['content-type'] ?? '');
    return new ApiError(415, 'media_type', `content-type is ${type}`, { hint: 'send application/json' });
  }
  if (status === 413) {
    const hint = 'send at most 1 MiB, or a file of at most 16 MiB';
    return new ApiError(413, 'too_large', messageOf(error), { hint });
  }
  return new ApiError(status, 'bad_request', messageOf(error), { hint: 'see /api for the fields of each path' });
}

function addPages(app: FastifyInstance, { version, probe, measured }: HttpServerOptions): void {
  const metrics = createMetrics(probe, measured, version);
  app.get('/healthz', async () => ({ status: 'ok', version, uptime_seconds: Math.floor(process.uptime()) }));
  app.get('/readyz', async (_request, reply) => {
    const answer = readiness(probe);
    return reply.code(answer.status === 'ready' ? 200 : 503).send(answer);
  });
  app.get(METRICS_PATH, async (_request, reply) => {
    const text = await metrics.metrics();
    return reply.type(metrics.contentType).send(text);
  });
}

/**
 * Forwards requests for the queue board to a second Fastify instance, because a server that listens accepts no more
 * routes.
 */
function addQueueBoard(app: FastifyInstance, { queues, logger }: HttpServerOptions): void {
  let opening: Promise<FastifyInstance> | null = null;
  const open = async (): Promise<FastifyInstance> => {
    const board = fastify();
    addCommonHandlers(board, logger);
    await registerQueueBoard(board, queues);
    return board.ready().then(() => board);
  };
  const forward = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    opening ??= open();
    const board = await opening.catch((error: unknown) => {
      opening = null;
      throw error;
    });
    reply.hijack();
    board.routing(request.raw, reply.raw);
  };
  app.get(QUEUE_BOARD_PATH, forward);
  app.get(`${QUEUE_BOARD_PATH}/*`, forward);
  app.addHook('onClose', async () => {
    const board = await opening?.catch(() => null);
    await board?.close();
  });
}

function responseStatus(error: unknown): number {
  if (!(error instanceof Error) || !('statusCode' in error)) return 500;
  return typeof error.statusCode === 'number' && error.statusCode >= 400 ? error.statusCode : 500;
}

function listenError(host: string, port: number, error: NodeJS.ErrnoException): AppError {
  const inUse = error.code === 'EADDRINUSE';
  const reason = inUse ? 'the port is in use' : error.message;
  return new AppError('http_port', `cannot listen on ${host}, port ${port}: ${reason}`, {
    hint: `${inUse ? 'stop the process that uses it, or ' : ''}choose another http.host or http.port; http.port: 0 turns the pages off`,
    cause: error,
  });
}

function portOf(app: FastifyInstance): number {
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
  return address.port;
}

interface DaemonParts {
  probe: HealthProbe;
  queue: SyncQueue;
  exportStatuses(): readonly ExportStatus[];
}

export function startDaemonHttp(context: Context, { probe, queue, exportStatuses }: DaemonParts): Promise<HttpServer> {
  const { clock, logger, version } = context;
  const { host, port } = context.config.http;
  const { path, checkpointKeyFile = checkpointKeyPath(path) } = context.config.ledger;
  const { queues } = queue;
  const { connection } = context.reader();
  const config = (): Config => context.config;
  const measured = createMeasurements(context, {
    queues,
    workspaces: () => readWorkspaces(context, probe),
    exportStatuses,
  });
  const token = pagesToken(config);
  token();
  return startHttp({
    host,
    port,
    token,
    openMetrics: () => config().http.metrics === 'open',
    logger,
    version,
    probe,
    measured,
    queues,
    apiTokens: () => config().http.tokens,
    api: {
      context,
      clock,
      version,
      requestsPerMinute: REQUESTS_PER_MINUTE,
      enqueueSync: enqueueManualRun(queue),
    },
    reports: createReportMaker({ ledgerPath: path, head: () => headOfChain(connection).digest }),
    acknowledging: {
      connection,
      linkKey: deriveLinkSecret(checkpointKeyFile),
      acknowledge: async (request: AcknowledgeRequest) => (await context.writer()).acknowledgeAlert(request),
      clock,
      timezone: () => context.config.timezone,
    },
    console: { context, publicUrl: () => config().http.publicUrl, enqueueSync: enqueueManualRun(queue) },
  });
}

/** Returns a function that returns the token of the active configuration. It reads the token once per configuration. */
function pagesToken(config: () => Config): () => string {
  let known: { http: Config['http']; token: string } | null = null;
  return () => {
    const { http } = config();
    if (known?.http !== http) known = { http, token: makePagesToken(http) };
    return known.token;
  };
}
