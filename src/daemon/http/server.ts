import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http';
import type { Queue } from 'bullmq';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { AcknowledgeRequest } from '../../alerts/actions.ts';
import type { Config } from '../../config/types.ts';
import { AppError, messageOf, summarizeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Redactor } from '../../core/text/redact.ts';
import { keyFileOf, linkKeyOf } from '../../ledger/audit/anchor/checkpoint-log.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import { isLoopbackHost, urlOf } from '../../net/local-address.ts';
import type { SyncQueue } from '../../queue/sync-queue.ts';
import type { ExportStatus } from '../../reports/files/export-folder.ts';
import { HTML_TYPE } from '../../reports/page/page-parts.ts';
import type { Context } from '../../wiring/context.ts';
import { API_PATH, type ApiOptions, addApi, REQUESTS_PER_MINUTE } from '../api/api-routes.ts';
import { callerOf } from '../api/callers.ts';
import { ApiError, sendProblem } from '../api/problem.ts';
import { enqueueManualRun } from '../manual-runs.ts';
import { MCP_PATH } from '../mcp/mcp-routes.ts';
import { ACKNOWLEDGE_ROUTE, type AcknowledgePageOptions, addAcknowledgePage } from './acknowledge-page.ts';
import { createMeasurements, type Measurements } from './measurements.ts';
import { createMetrics } from './metrics.ts';
import { type Overview, overviewPage, readOverview, readWorkspaces } from './pages/overview-page.ts';
import { makePagesToken } from './pages-token.ts';
import type { HealthProbe } from './probe.ts';
import { QUEUE_BOARD_PATH, registerQueueBoard } from './queue-board.ts';
import { readiness } from './readiness.ts';
import { addReportPages, createReportMaker, type ReportPagesOptions } from './reports/report-maker.ts';

const REQUEST_TIMEOUT_MS = 10_000;
/** Ids have up to 1,024 characters, each of up to four bytes as `%XX`. */
const MAX_PARAMETER_LENGTH = 12_288;
/** Paths that need no token; the links in messages carry a signature. */
const OPEN_PATHS = ['/healthz', '/readyz', ACKNOWLEDGE_ROUTE];
const METRICS_PATH = '/metrics';
/** The name of whoever has the token of the pages. */
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
  overview: () => Promise<Overview>;
  queues: readonly Queue[];
  reports: ReportPagesOptions;
  /** The tokens of `http.tokens`. */
  apiTokens: () => Config['http']['tokens'];
  /** Options of the API; null: it is not served. */
  api: ApiOptions | null;
  /** Options of the page that acknowledges alerts; null: the page is not served. */
  acknowledging: AcknowledgePageOptions | null;
}

export interface HttpServer {
  readonly url: string;
  /** Stops immediately and cuts open connections. May be called twice. */
  close(): Promise<void>;
}

/**
 * Serves `/`, `/report`, `/healthz`, `/readyz`, `/metrics` and `/admin/queues`; resolves once it listens, and fails with
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
    addGuards(app, options);
    addPages(app, options);
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
  logger.info({ url }, 'serving health, metrics and queue pages');
  return { url, close: () => app.close() };
}

function refuseSchema(): never {
  throw new Error('a route has a schema, but the schema compilers are disabled: remove WITHOUT_SCHEMAS first');
}

function addGuards(app: FastifyInstance, options: HttpServerOptions): void {
  const { host, token, apiTokens, openMetrics, logger } = options;
  const loopback = isLoopbackHost(host);
  app.decorateRequest('caller', null);
  app.addHook('onRequest', async (request, reply) => {
    if (loopback && !isLoopbackHostHeader(request.headers.host)) {
      return refuse(request, reply, 421, 'unknown_host', 'use 127.0.0.1 or localhost as the host');
    }
    // Compares the matched route rather than the URL, so that no spelling of a URL bypasses the token.
    const { url = '' } = request.routeOptions;
    const open = OPEN_PATHS.includes(url) || (url === METRICS_PATH && openMetrics());
    const known = [...apiTokens(), { name: PAGES_CALLER, role: 'finance' as const, token: token() }];
    request.caller = callerOf(tokenOfRequest(request.headers, request.url), known);
    if (!open && request.caller === null) {
      reply.header('www-authenticate', ['Bearer realm="usage-ledger"', 'Basic realm="usage-ledger", charset="UTF-8"']);
      return refuse(
        request,
        reply,
        401,
        'unauthorized',
        'open the link that `usage-ledger open` prints, or send the token as a Bearer token',
      );
    }
    // The link of `usage-ledger open`: a cookie keeps the token, so that it does not stay in the address bar or the history.
    const clean = withoutToken(request.url);
    if (!open && clean !== null) return reply.header('set-cookie', cookieOf(request)).redirect(clean, 303);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead || url === ACKNOWLEDGE_ROUTE) return;
    // bull-board has routes that change queues; this is a second barrier besides its read-only mode.
    if (!url.startsWith(`${API_PATH}/`) && url !== MCP_PATH) {
      return refuse(request, reply.header('allow', 'GET, HEAD'), 405, 'read_only', 'ask with GET');
    }
    // A browser sends its cookie along with forms of other sites of this machine.
    if (request.headers.authorization === undefined) {
      return refuse(request, reply, 401, 'unauthorized', 'send the token as a Bearer token: a cookie changes nothing');
    }
  });
  app.addHook('onResponse', async (request, reply) => {
    const [path] = request.url.split('?', 1);
    logger.debug({ method: request.method, path, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, 'http');
  });
  addCommonHandlers(app, logger, options.api?.context.redact);
}

/** Adds the security headers and error handlers of all responses, including bull-board's. */
function addCommonHandlers(app: FastifyInstance, logger: Logger, redact: Redactor = (text) => text): void {
  app.addHook('onSend', async (request, reply) => {
    // The acknowledge page sets its own policy, which allows its form.
    const own = reply.getHeader('content-security-policy');
    // Callers of the API may keep an answer, and ask whether it is still current.
    const caching = isApi(request) ? reply.getHeader('cache-control') : undefined;
    reply.headers({
      ...SECURITY_HEADERS,
      ...(own === undefined ? {} : { 'content-security-policy': own }),
      ...(caching === undefined ? {} : { 'cache-control': caching }),
    });
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

/** Reports whether a program sent the request: the API and MCP answer with problems, pages with words. */
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

function addPages(app: FastifyInstance, { version, probe, measured, overview }: HttpServerOptions): void {
  const metrics = createMetrics(probe, measured, version);
  app.get('/', async (_request, reply) => reply.type(HTML_TYPE).send(overviewPage(await overview())));
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
    overview: () => readOverview(context, probe, measured),
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

const TOKEN_COOKIE = 'usage_ledger_token';
const TOKEN_PARAMETER = 'token';

/**
 * Returns the token of a request: a `Bearer` token, the `Basic` password with any user name, the parameter of the link that
 * `usage-ledger open` prints, or the cookie that this link sets. Null if there is none.
 */
function tokenOfRequest(headers: IncomingHttpHeaders, url: string): Buffer | null {
  if (headers.authorization !== undefined) {
    const [, scheme = '', credentials = ''] = /^(\S+) +(.*)$/s.exec(headers.authorization) ?? [];
    return tokenOf(scheme.toLowerCase(), credentials);
  }
  const inLink = parametersOf(url).get(TOKEN_PARAMETER);
  if (inLink !== null) return Buffer.from(inLink, 'utf8');
  const [, inCookie] = new RegExp(`(?:^|; *)${TOKEN_COOKIE}=([^;]*)`).exec(headers.cookie ?? '') ?? [];
  return inCookie === undefined ? null : Buffer.from(inCookie, 'base64url');
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

/** Builds a session cookie with the token of the link, which scripts and other sites cannot read. */
function cookieOf({ headers, url }: FastifyRequest): string {
  const token = tokenOfRequest(headers, url) ?? Buffer.alloc(0);
  return `${TOKEN_COOKIE}=${token.toString('base64url')}; Path=/; HttpOnly; SameSite=Lax`;
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
