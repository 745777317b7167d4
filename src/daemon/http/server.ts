import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Queue } from 'bullmq';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { AcknowledgeRequest } from '../../alerts/notify/actions.ts';
import type { Config } from '../../config/types.ts';
import { AppError, summarizeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { isLoopbackHost, urlOf } from '../../core/net/public-address.ts';
import { keyFileOf, linkKeyOf } from '../../ledger/audit/anchor/checkpoint-log.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import type { SyncQueue } from '../../queue/sync-queue.ts';
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
/** A signed link of a message needs no token. */
const OPEN_PATHS = ['/healthz', '/readyz', ACKNOWLEDGE_ROUTE];
const METRICS_PATH = '/metrics';

/** No page here has a schema: without this, two compilers of them would be in memory for nothing. */
const WITHOUT_SCHEMAS = {
  schemaController: { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } },
};

/** Nothing here may be framed, cached or sent elsewhere; bull-board's page brings styles and a worker of its own. */
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

export interface HttpOptions {
  host: string;
  /** 0 takes any free port: whoever reads `http.port: 0` as "off" does not call this. */
  port: number;
  /** What every page but /healthz and /readyz asks for. */
  token: () => string;
  /** Whether /metrics asks for none, either. */
  openMetrics: () => boolean;
  logger: Logger;
  version: string;
  probe: HealthProbe;
  measured: Measurements;
  overview: () => Promise<Overview>;
  queues: readonly Queue[];
  reports: ReportPagesOptions;
  /** What the pages are made of on which alerts are acknowledged; null: there are none. */
  acknowledging: AcknowledgePageOptions | null;
}

export interface HttpServer {
  readonly url: string;
  /** Stops at once, whatever connections are open. May be called twice. */
  close(): Promise<void>;
}

/**
 * Serves `/`, `/report`, `/healthz`, `/readyz`, `/metrics` and `/admin/queues`; resolves once it listens. Fails with `http_port` when it
 * cannot. Bound to a loopback address it answers only requests for one, with or without a token.
 */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
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
  logger.info({ url }, 'health, metrics and queue pages are served');
  return { url, close: () => app.close() };
}

function refuseSchema(): never {
  throw new Error('give the pages a schema compiler before giving one of them a schema');
}

function addGuards(app: FastifyInstance, { host, token, openMetrics, logger }: HttpOptions): void {
  const loopback = isLoopbackHost(host);
  app.addHook('onRequest', async (request, reply) => {
    if (loopback && !namesLoopback(request.headers.host)) {
      return reply.code(421).send({ error: 'unknown_host', hint: 'ask for 127.0.0.1 or localhost' });
    }
    // The route and not the address: however an address is written, only the one route is open.
    const { url = '' } = request.routeOptions;
    const open = OPEN_PATHS.includes(url) || (url === METRICS_PATH && openMetrics());
    if (!open && !isToken(givenToken(request.headers, request.url), token())) {
      return reply
        .code(401)
        .header('www-authenticate', ['Bearer realm="usage-ledger"', 'Basic realm="usage-ledger", charset="UTF-8"'])
        .send({
          error: 'unauthorized',
          hint: 'open the link that `usage-ledger open` prints, or send the token as a Bearer token',
        });
    }
    // The link of `usage-ledger open`: the browser keeps the token, and neither its address nor its history shows it.
    const clean = withoutToken(request.url);
    if (!open && clean !== null) return reply.header('set-cookie', cookieOf(token())).redirect(clean, 303);
    // bull-board has routes that change queues, and its own switch for them is only one of the two bars.
    if (request.method !== 'GET' && request.method !== 'HEAD' && url !== ACKNOWLEDGE_ROUTE) {
      return reply.code(405).header('allow', 'GET, HEAD').send({ error: 'read_only' });
    }
  });
  app.addHook('onResponse', async (request, reply) => {
    const [path] = request.url.split('?', 1);
    logger.debug({ method: request.method, path, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, 'http');
  });
  addCommon(app, logger);
}

/** What holds for every answer, of bull-board's too. */
function addCommon(app: FastifyInstance, logger: Logger): void {
  app.addHook('onSend', async (_request, reply) => {
    // The one page with a form has a policy of its own.
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

function addPages(app: FastifyInstance, { version, probe, measured, overview }: HttpOptions): void {
  const metrics = createMetrics(probe, measured, version);
  app.get('/', async (_request, reply) => reply.type('text/html; charset=utf-8').send(overviewPage(await overview())));
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

/** bull-board wants a server of its own, since one that listens takes no more routes; requests are passed on to it. */
function addQueueBoard(app: FastifyInstance, { queues, logger }: HttpOptions): void {
  let opening: Promise<FastifyInstance> | null = null;
  const open = async (): Promise<FastifyInstance> => {
    const board = fastify();
    addCommon(board, logger);
    await registerQueueBoard(board, queues);
    return board.ready().then(() => board);
  };
  const passOn = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    opening ??= open();
    const board = await opening.catch((error: unknown) => {
      opening = null;
      throw error;
    });
    reply.hijack();
    board.routing(request.raw, reply.raw);
  };
  app.get(QUEUE_BOARD_PATH, passOn);
  app.get(`${QUEUE_BOARD_PATH}/*`, passOn);
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
    hint: `${inUse ? 'stop what listens there, or ' : ''}choose another http.host or http.port; http.port: 0 switches the pages off`,
    cause: error,
  });
}

function portOf(app: FastifyInstance): number {
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP address is expected');
  return address.port;
}

export function startDaemonHttp(context: Context, probe: HealthProbe, queue: SyncQueue): Promise<HttpServer> {
  const { clock, logger, version } = context;
  const { host, port } = context.config.http;
  const { path, checkpointKeyFile = keyFileOf(path) } = context.config.ledger;
  const { queues } = queue;
  const { connection } = context.reader();
  const config = (): Config => context.config;
  const measured = createMeasurements(context, queues, () => readWorkspaces(context, probe));
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

/** The token by the configuration that counts, which is looked for once for each. */
function pagesToken(config: () => Config): () => string {
  let known: { http: Config['http']; token: string } | null = null;
  return () => {
    const { http } = config();
    if (known?.http !== http) known = { http, token: makePagesToken(http) };
    return known.token;
  };
}

const COOKIE = 'usage_ledger_token';
const PARAMETER = 'token';

/**
 * The token that a request brings: as `Bearer`, as the password of `Basic` with any user name, in the link of
 * `usage-ledger open`, or in the cookie that this link has set; null where there is none.
 */
function givenToken(headers: IncomingHttpHeaders, url: string): Buffer | null {
  if (headers.authorization !== undefined) {
    const [, scheme = '', credentials = ''] = /^(\S+) +(.*)$/s.exec(headers.authorization) ?? [];
    return tokenOf(scheme.toLowerCase(), credentials);
  }
  const inLink = parametersOf(url).get(PARAMETER);
  if (inLink !== null) return Buffer.from(inLink, 'utf8');
  const [, inCookie] = new RegExp(`(?:^|; *)${COOKIE}=([^;]*)`).exec(headers.cookie ?? '') ?? [];
  return inCookie === undefined ? null : Buffer.from(inCookie, 'base64url');
}

/** Takes the same time whatever was given. */
function isToken(given: Buffer | null, token: string): boolean {
  // Digests are of one length, so that the comparison tells nothing about that of the token.
  return given !== null && timingSafeEqual(digest(given), digest(Buffer.from(token, 'utf8')));
}

/** The address of a link without its token; null for one that has none. */
function withoutToken(url: string): string | null {
  const parameters = parametersOf(url);
  if (!parameters.has(PARAMETER)) return null;
  parameters.delete(PARAMETER);
  const [path = '/'] = url.split('?', 1);
  // One slash: two would name another host.
  return `/${path.replace(/^\/+/, '')}${parameters.size === 0 ? '' : `?${parameters}`}`;
}

/** What a browser keeps until it is closed, out of reach of scripts and of other sites. */
function cookieOf(token: string): string {
  return `${COOKIE}=${Buffer.from(token, 'utf8').toString('base64url')}; Path=/; HttpOnly; SameSite=Lax`;
}

function parametersOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : url.slice(start + 1));
}

function tokenOf(scheme: string, credentials: string): Buffer | null {
  // Node hands out header values as latin1, byte for byte.
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
 * Whether a Host header names this machine. A page on the web can let its own name resolve to 127.0.0.1 and would then
 * read what is served here; the browser still sends that name.
 */
function namesLoopback(hostHeader: string | undefined): boolean {
  const [, host = ''] = /^(\[[^\]]*\]|[^:]*)(?::\d+)?$/.exec(hostHeader ?? '') ?? [];
  return isLoopbackHost(host);
}
