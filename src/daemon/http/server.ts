import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Queue } from 'bullmq';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { AcknowledgeRequest } from '../../alerts/actions.ts';
import type { Config } from '../../config/types.ts';
import { AppError, summarizeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { keyFileOf, linkKeyOf } from '../../ledger/audit/anchor/checkpoint-log.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import { isLoopbackHost, urlOf } from '../../net/local-address.ts';
import type { SyncQueue } from '../../queue/sync-queue.ts';
import type { ExportStatus } from '../../reports/files/export-folder.ts';
import { HTML_TYPE } from '../../reports/page/page-parts.ts';
import type { Context } from '../../wiring/context.ts';
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
/** Paths that need no token; the links in messages carry a signature. */
const OPEN_PATHS = ['/healthz', '/readyz', ACKNOWLEDGE_ROUTE];
const METRICS_PATH = '/metrics';

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
  const app = fastify({ forceCloseConnections: true, requestTimeout: REQUEST_TIMEOUT_MS, ...WITHOUT_SCHEMAS });
  try {
    addGuards(app, options);
    addPages(app, options);
    addReportPages(app, options.reports);
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

function addGuards(app: FastifyInstance, { host, token, openMetrics, logger }: HttpServerOptions): void {
  const loopback = isLoopbackHost(host);
  app.addHook('onRequest', async (request, reply) => {
    if (loopback && !isLoopbackHostHeader(request.headers.host)) {
      return reply.code(421).send({ error: 'unknown_host', hint: 'use 127.0.0.1 or localhost as the host' });
    }
    // Compares the matched route rather than the URL, so that no spelling of a URL bypasses the token.
    const { url = '' } = request.routeOptions;
    const open = OPEN_PATHS.includes(url) || (url === METRICS_PATH && openMetrics());
    if (!open && !isToken(tokenOfRequest(request.headers, request.url), token())) {
      return reply
        .code(401)
        .header('www-authenticate', ['Bearer realm="usage-ledger"', 'Basic realm="usage-ledger", charset="UTF-8"'])
        .send({
          error: 'unauthorized',
          hint: 'open the link that `usage-ledger open` prints, or send the token as a Bearer token',
        });
    }
    // The link of `usage-ledger open`: a cookie keeps the token, so that it does not stay in the address bar or the history.
    const clean = withoutToken(request.url);
    if (!open && clean !== null) return reply.header('set-cookie', cookieOf(token())).redirect(clean, 303);
    // bull-board has routes that change queues; this is a second barrier besides its read-only mode.
    if (request.method !== 'GET' && request.method !== 'HEAD' && url !== ACKNOWLEDGE_ROUTE) {
      return reply.code(405).header('allow', 'GET, HEAD').send({ error: 'read_only' });
    }
  });
  app.addHook('onResponse', async (request, reply) => {
    const [path] = request.url.split('?', 1);
    logger.debug({ method: request.method, path, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, 'http');
  });
  addCommonHandlers(app, logger);
}

/** Adds the security headers and error handlers of all responses, including bull-board's. */
function addCommonHandlers(app: FastifyInstance, logger: Logger): void {
  app.addHook('onSend', async (_request, reply) => {
    // The acknowledge page sets its own policy, which allows its form.
    const own = reply.getHeader('content-security-policy');
    reply.headers(own === undefined ? SECURITY_HEADERS : { ...SECURITY_HEADERS, 'content-security-policy': own });
  });
  app.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'not_found' }));
  app.setErrorHandler((error, request, reply) => {
    const status = statusOf(error);
    if (status < 500) return reply.code(status).send({ error: 'bad_request' });
    const stack = error instanceof Error ? error.stack : undefined;
    logger.error({ path: request.routeOptions.url, reason: summarizeError(error).message, stack }, 'http page failed');
    return reply.code(status).send({ error: 'internal' });
  });
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

/** Compares in constant time. */
function isToken(given: Buffer | null, token: string): boolean {
  // Digests have a fixed length, so the comparison does not reveal the length of the token.
  return given !== null && timingSafeEqual(digest(given), digest(Buffer.from(token, 'utf8')));
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

/** Builds a session cookie with the token that scripts and other sites cannot read. */
function cookieOf(token: string): string {
  return `${TOKEN_COOKIE}=${Buffer.from(token, 'utf8').toString('base64url')}; Path=/; HttpOnly; SameSite=Lax`;
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

function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/**
 * Reports whether a Host header names a loopback address. This stops DNS rebinding: a website can point its own name to
 * 127.0.0.1 to read these pages, but the browser still sends that name.
 */
function isLoopbackHostHeader(hostHeader: string | undefined): boolean {
  const [, host = ''] = /^(\[[^\]]*\]|[^:]*)(?::\d+)?$/.exec(hostHeader ?? '') ?? [];
  return isLoopbackHost(host);
}
