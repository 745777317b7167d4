import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http';
import type { Queue } from 'bullmq';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { AcknowledgeRequest } from '../../alerts/actions.ts';
import type { Config } from '../../config/types.ts';
import { type Clock, systemClock } from '../../core/clock.ts';
import { AppError, messageOf, summarizeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Redactor } from '../../core/text/redact.ts';
import { keyFileOf, linkKeyOf } from '../../ledger/audit/anchor/checkpoint-log.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import { isLoopbackHost, urlOf } from '../../net/local-address.ts';
import type { SyncQueue } from '../../queue/sync-queue.ts';
import type { ExportStatus } from '../../reports/files/export-folder.ts';
import type { Context } from '../../wiring/context.ts';
import { API_PATH, type ApiOptions, addApi, REQUESTS_PER_MINUTE } from '../api/api-routes.ts';
import { callerOf } from '../api/callers.ts';
import { ApiError, sendProblem } from '../api/problem.ts';
import { addConsole } from '../console/console.tsx';
import type { ConsoleOptions } from '../console/console-pages.ts';
import { readWorkspaces } from '../console/overview/read-overview.ts';
import { ASSETS_PATH } from '../console/shell/assets.ts';
import { sendPage } from '../console/shell/render-page.ts';
import { Sessions, type SessionToken } from '../console/sign-in/sessions.ts';
import { SignInPage } from '../console/sign-in/sign-in-page.tsx';
import { isSecure } from '../console/sign-in/sign-in-routes.tsx';
import { enqueueManualRun } from '../manual-runs.ts';
import { MCP_PATH } from '../mcp/mcp-routes.ts';
import { ACKNOWLEDGE_ROUTE, type AcknowledgePageOptions, addAcknowledgePage } from './acknowledge-page.ts';
import { createMeasurements, type Measurements } from './measurements.ts';
import { createMetrics } from './metrics.ts';
import { makePagesToken } from './pages-token.ts';
import type { HealthProbe } from './probe.ts';
import { QUEUE_BOARD_PATH, registerQueueBoard } from './queue-board.ts';
import { readiness } from './readiness.ts';
import { addReportPages, createReportMaker, type ReportPagesOptions } from './reports/report-maker.ts';

const REQUEST_TIMEOUT_MS = 10_000;
/** Ids have up to 1,024 characters, each of up to four bytes as `%XX`. */
const MAX_PARAMETER_LENGTH = 12_288;
/** Paths that need no token besides those of the console; the links in messages carry a signature. */
const OPEN_PATHS = ['/healthz', '/readyz', ACKNOWLEDGE_ROUTE];
const METRICS_PATH = '/metrics';
/** The actor that is recorded for a caller with the token of the pages. */
const PAGES_CALLER = 'pages';

/** No page has a schema, so Fastify's two schema compilers are not loaded. */
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
  /** Reports whether /metrics needs no token, either. */
  openMetrics: () => boolean;
  logger: Logger;
  version: string;
  probe: HealthProbe;
  measured: Measurements;
  queues: readonly Queue[];
  reports: ReportPagesOptions;
  /** The tokens of `http.tokens`. */
  apiTokens: () => Config['http']['tokens'];
  /** Options of the API; null: it is not served. */
  api: ApiOptions | null;
  /** Options of the page that acknowledges alerts; null: the page is not served. */
  acknowledging: AcknowledgePageOptions | null;
  /** Options of the console; null: it is not served. */
  console: Pick<ConsoleOptions, 'context' | 'publicUrl' | 'enqueueSync'> | null;
  /** Measures how long a session lasts. */
  sessionClock?: Pick<Clock, 'monotonic'>;
}

export interface HttpServer {
  readonly url: string;
  /** Stops immediately and cuts open connections. May be called twice. */
  close(): Promise<void>;
}

/**
 * Serves the console, `/report`, `/healthz`, `/readyz`, `/metrics` and `/admin/queues`; resolves once it listens, and fails with
 * `http_port` if it cannot. On a loopback address it answers only requests with a loopback Host header, even with a token.
 */
export async function startHttp(options: HttpServerOptions): Promise<HttpServer> {
  const { host, port, logger } = options;
  const app = fastify({
    forceCloseConnections: true,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    frameworkErrors: (error, request, reply) => refuse(request, reply, statusOf(error), 'bad_request', error.message),
    ...WITHOUT_SCHEMAS,
  });
  try {
    const sessions = new Sessions(options.sessionClock ?? systemClock);
    const tokens = (): SessionToken[] => [
      ...options.apiTokens(),
      { name: PAGES_CALLER, role: 'finance', token: options.token() },
    ];
    addGuards(app, { ...options, sessions, tokens });
    addPages(app, options);
    if (options.console !== null) await addConsole(app, { ...options, ...options.console, sessions, tokens });
    addReportPages(app, options.reports);
    if (options.api !== null) await addApi(app, options.api);
    if (options.acknowledging !== null) addAcknowledgePage(app, options.acknowledging);
    app.addHook('onClose', () => options.reports.maker.stop());
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

interface GuardOptions extends HttpServerOptions {
  sessions: Sessions;
  tokens: () => readonly SessionToken[];
}

function addGuards(app: FastifyInstance, options: GuardOptions): void {
  const { host, openMetrics, logger, sessions, tokens } = options;
  const loopback = isLoopbackHost(host);
  app.decorateRequest('caller', null);
  app.decorateRequest('session', null);
  app.addHook('onRequest', async (request, reply) => {
    if (loopback && !isLoopbackHostHeader(request.headers.host)) {
      return refuse(request, reply, 421, 'unknown_host', 'use 127.0.0.1 or localhost as the host');
    }
    // Compares the matched route rather than the URL, so that no spelling of a URL bypasses the token.
    const { url = '', config } = request.routeOptions;
    const open = OPEN_PATHS.includes(url) || config.access === 'open' || (url === METRICS_PATH && openMetrics());
    const known = tokens();
    const inLink = tokenOfLink(request);
    // A token in the request says who asks; the session of a browser counts only without one.
    const given = inLink ?? tokenOfHeader(request.headers);
    if (given === null) request.session = sessions.find(request.headers.cookie, known);
    request.caller = given === null ? (request.session?.caller ?? null) : callerOf(given, known);
    if (!open && request.caller === null) return refuseStranger(request, reply, options);
    // The link of `usage-ledger open`: it starts a session, so that the token does not stay in the address bar or the history.
    const clean = withoutToken(request.url);
    const token = known.find(({ name }) => name === request.caller?.name);
    if (!open && clean !== null && token !== undefined) {
      sessions.end(request.headers.cookie);
      const cookie = sessions.start(token, { secure: isSecure(request.headers) });
      return reply.header('set-cookie', cookie).redirect(clean, 303);
    }
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead || config.access !== undefined || url === ACKNOWLEDGE_ROUTE) return;
    // bull-board has routes that change queues; this is a second barrier besides its read-only mode.
    if (!url.startsWith(`${API_PATH}/`) && url !== MCP_PATH) {
      return refuse(request, reply.header('allow', 'GET, HEAD'), 405, 'read_only', 'ask with GET');
    }
    // A browser also sends its cookie with forms from other sites on this machine.
    if (request.headers.authorization === undefined) {
      return refuse(
        request,
        reply,
        401,
        'unauthorized',
        'send the token as a Bearer token: changes by cookie are not accepted',
      );
    }
  });
  app.addHook('onResponse', async (request, reply) => {
    const [path] = request.url.split('?', 1);
    logger.debug({ method: request.method, path, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, 'http');
  });
  addCommonHandlers(app, logger, options.api?.context.redact);
}

/** Answers a request without a valid token: a browser gets the page that asks for one. */
function refuseStranger(request: FastifyRequest, reply: FastifyReply, options: GuardOptions): FastifyReply {
  const { authorization, accept = '' } = request.headers;
  const isBrowser = authorization === undefined && accept.includes('text/html') && !isApi(request);
  if (isBrowser && options.console !== null) {
    const next = request.method === 'GET' ? (withoutToken(request.url) ?? request.url) : '/';
    const fault = withoutToken(request.url) === null ? null : 'The token of this link is not valid.';
    return sendPage(reply, SignInPage({ next, fault }), 401);
  }
  reply.header('www-authenticate', ['Bearer realm="usage-ledger"', 'Basic realm="usage-ledger", charset="UTF-8"']);
  return refuse(
    request,
    reply,
    401,
    'unauthorized',
    'open the link that `usage-ledger open` prints, or send the token as a Bearer token',
  );
}

/** Adds the security headers and error handlers of all responses, including bull-board's. */
function addCommonHandlers(app: FastifyInstance, logger: Logger, redact: Redactor = (text) => text): void {
  app.addHook('onSend', async (request, reply) => {
    // Pages with forms have a policy of their own.
    const own = ['content-security-policy', 'referrer-policy'];
    // Callers of the API may keep an answer and ask whether it is still current; the console's assets never change.
    if (isApi(request) || request.url.startsWith(`${ASSETS_PATH}/`)) own.push('cache-control');
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) {
      if (!own.includes(name) || !reply.hasHeader(name)) reply.header(name, value);
    }
  });
  app.setNotFoundHandler((request, reply) =>
    refuse(request, reply, 404, 'not_found', 'see /api for the paths and their methods'),
  );
  app.setErrorHandler((error, request, reply) => {
    const status = statusOf(error);
    if (!isApi(request) && status < 500) return reply.code(status).send({ error: 'bad_request' });
    if (isApi(request) && (error instanceof AppError || status < 500)) {
      return sendProblem(reply, error instanceof AppError ? error : badRequestOf(error, status), redact);
    }
    const stack = error instanceof Error ? error.stack : undefined;
    logger.error({ path: request.routeOptions.url, reason: summarizeError(error).message, stack }, 'http page failed');
    return isApi(request) ? sendProblem(reply, error, redact) : reply.code(status).send({ error: 'internal' });
  });
}

/** Converts an error of the HTTP library, such as a body that is too large. */
function badRequestOf(error: unknown, status: number): ApiError {
  const code = status === 413 ? 'too_large' : status === 415 ? 'media_type' : 'bad_request';
  return new ApiError(status, code, messageOf(error), { hint: 'see /api for the fields of each path' });
}

/**
 * Reports whether a program sent the request. The API and MCP answer errors with a problem document, pages with a
 * sentence.
 */
function isApi({ url }: FastifyRequest): boolean {
  return /^\/(?:api|mcp)([/?]|$)/.test(url);
}

/** Answers a request that reaches no page: with a problem for a program, else with the reason. */
function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  code: string,
  hint: string,
): FastifyReply {
  if (!isApi(request)) return reply.code(status).send({ error: code, hint });
  return sendProblem(reply, new ApiError(status, code, STATUS_CODES[status] ?? code, { hint }), (text) => text);
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

/** Forwards requests to a second Fastify instance with bull-board: a listening server accepts no more routes. */
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

function statusOf(error: unknown): number {
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
  const { path, checkpointKeyFile = keyFileOf(path) } = context.config.ledger;
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
    reports: {
      workspaces: () => config().workspaces,
      maker: createReportMaker({ ledgerPath: path, head: () => headOfChain(connection).digest }),
      clock,
    },
    acknowledging: {
      connection,
      linkKey: linkKeyOf(checkpointKeyFile),
      acknowledge: async (request: AcknowledgeRequest) => (await context.writer()).acknowledgeAlert(request),
      clock,
      timezone: () => context.config.timezone,
    },
    console: { context, publicUrl: () => config().http.publicUrl, enqueueSync: enqueueManualRun(queue) },
  });
}

/** Returns a function that reads the token of the active configuration, once per configuration. */
function pagesToken(config: () => Config): () => string {
  let known: { http: Config['http']; token: string } | null = null;
  return () => {
    const { http } = config();
    if (known?.http !== http) known = { http, token: makePagesToken(http) };
    return known.token;
  };
}

const TOKEN_PARAMETER = 'token';

/** Returns the token of the link that `usage-ledger open` prints; null if the URL has none. */
function tokenOfLink({ url, headers }: FastifyRequest): Buffer | null {
  if (headers.authorization !== undefined) return null;
  const token = parametersOf(url).get(TOKEN_PARAMETER);
  return token === null ? null : Buffer.from(token, 'utf8');
}

/** Returns a `Bearer` token, or the `Basic` password with any user name; null without either. */
function tokenOfHeader({ authorization }: IncomingHttpHeaders): Buffer | null {
  if (authorization === undefined) return null;
  const [, scheme = '', credentials = ''] = /^(\S+) +(.*)$/s.exec(authorization) ?? [];
  return tokenOf(scheme.toLowerCase(), credentials) ?? Buffer.alloc(0);
}

/** Returns a URL without its token parameter; null if it has none. */
function withoutToken(url: string): string | null {
  const parameters = parametersOf(url);
  if (!parameters.has(TOKEN_PARAMETER)) return null;
  parameters.delete(TOKEN_PARAMETER);
  const [path = '/'] = url.split('?', 1);
  // A single slash: `//name` would redirect to another host.
  return `/${path.replace(/^\/+/, '')}${parameters.size === 0 ? '' : `?${parameters}`}`;
}

function parametersOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : url.slice(start + 1));
}

function tokenOf(scheme: string, credentials: string): Buffer | null {
  // Node decodes header values as latin1, one character per byte.
  if (scheme === 'bearer') return Buffer.from(credentials, 'latin1');
  if (scheme !== 'basic') return null;
  const pair = Buffer.from(credentials, 'base64');
  const colon = pair.indexOf(':');
  return colon < 0 ? null : pair.subarray(colon + 1);
}

/**
 * Reports whether a Host header names a loopback address. This stops DNS rebinding: a website can point its own name to
 * 127.0.0.1 to read these pages, but the browser still sends that name.
 */
function isLoopbackHostHeader(hostHeader: string | undefined): boolean {
  const [, host = ''] = /^(\[[^\]]*\]|[^:]*)(?::\d+)?$/.exec(hostHeader ?? '') ?? [];
  return isLoopbackHost(host);
}
