import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { countAlerts, countOpenAlerts } from '../../alerts/state/open-alerts.ts';
import { AppError, summarizeError } from '../../core/errors.ts';
import type { Role } from '../../core/text/roles.ts';
import type { Actor, Scope } from '../../operations/operation.ts';
import { ApiError, statusOf } from '../api/problem.ts';
import { UPLOAD_LIMITS } from '../api/read-upload.ts';
import { isApi } from '../http/refusal.ts';
import { limitRequests } from '../http/request-limit.ts';
import { addAlertPage } from './alerts/alert-routes.tsx';
import { addAlertList } from './alerts/list-routes.tsx';
import type { ConsoleOptions, ConsolePages } from './console-pages.ts';
import { addMoney } from './money/money-routes.tsx';
import { addMonths } from './months/month-routes.tsx';
import { addReconciling } from './months/reconcile-routes.tsx';
import { addOverview } from './overview/overview-routes.tsx';
import { addReports } from './reports/report-routes.tsx';
import { addRuns } from './runs/runs-page.tsx';
import { consoleAssets } from './shell/assets.ts';
import { ErrorPage } from './shell/error-page.tsx';
import { sentence } from './shell/fault-text.ts';
import { sendPage } from './shell/render-page.ts';
import type { Visit } from './shell/visit.ts';
import { addZoneChoice, zoneOf } from './shell/zone-routes.ts';
import type { Session } from './sign-in/sessions.ts';
import { SignInPage } from './sign-in/sign-in-page.tsx';
import { addSignIn } from './sign-in/sign-in-routes.tsx';
import { addSystem } from './system/system-routes.tsx';
import { addTenants } from './tenants/tenant-routes.tsx';

declare module 'fastify' {
  interface FastifyRequest {
    /** The session that the request's cookie belongs to; null if there is none. */
    session: Session | null;
  }
  interface FastifyContextConfig {
    /**
     * `open`: the route needs no token. `form`: the route receives a form and itself checks the session, the form token
     * and the origin.
     */
    access?: 'open' | 'form';
    /** The role that is required to send a form, in addition to the role that its change requires. */
    role?: Role;
  }
}

const FORM_TYPE = 'application/x-www-form-urlencoded';
/** The maximum size of a form. A form may contain the ids of a few thousand alerts. */
const MAX_FORM_BYTES = 512 * 1024;

/**
 * The maximum number of pages and forms per minute for each person. A page takes up to 150 ms of processor time for a
 * large ledger.
 */
const PAGES_PER_MINUTE = 300;

/** Serves the console. The server has already checked the `Host` header, and the token or session. */
export async function addConsole(app: FastifyInstance, options: ConsoleOptions): Promise<void> {
  await app.register(serveConsole, options);
}

const serveConsole: FastifyPluginAsync<ConsoleOptions> = async (app, options) => {
  app.addContentTypeParser(FORM_TYPE, { parseAs: 'string', bodyLimit: MAX_FORM_BYTES }, (_request, body, done) => {
    done(null, new URLSearchParams(String(body)));
  });
  await app.register(multipart, { limits: UPLOAD_LIMITS });
  app.setErrorHandler((error, request, reply) => sendFault(error, { request, reply, options }));
  const { pagesPerMinute = PAGES_PER_MINUTE } = options;
  await limitRequests(app, {
    perMinute: pagesPerMinute,
    callerOf: ({ session, caller, ip }) => (caller === null ? ip : `${caller.name} ${session?.person ?? ''}`),
    message: `more than ${pagesPerMinute} pages within a minute`,
  });
  for (const asset of Object.values(consoleAssets())) {
    app.get(asset.path, { config: { access: 'open', rateLimit: false } }, (_request, reply) =>
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(asset.type).send(asset.text),
    );
  }
  addSignIn(app, options);
  addZoneChoice(app, options);
  const pages: ConsolePages = {
    ...options,
    visitOf: (request) => visitOf(request, options),
    scopeOf: (request) => scopeOf(request, options),
  };
  addOverview(app, pages);
  addAlertList(app, pages);
  addAlertPage(app, pages);
  addTenants(app, pages);
  addMonths(app, pages);
  addReconciling(app, pages);
  addMoney(app, pages);
  addReports(app, pages);
  addRuns(app, pages);
  addSystem(app, pages);
  addNoSuchPage(app);
};

/**
 * Shows an error page to a browser that requests a page that does not exist. Programs get the server's usual 404
 * response.
 */
function addNoSuchPage(app: FastifyInstance): void {
  app.get('/*', (request, reply) => {
    if (isApi(request) || !(request.headers.accept ?? '').includes('text/html')) return reply.callNotFound();
    throw new ApiError(404, 'not_found', 'this page does not exist', {
      hint: 'check its address, or begin at the overview',
    });
  });
}

function visitOf(request: FastifyRequest, { context, version }: ConsoleOptions): Visit {
  const { session, caller } = request;
  if (caller === null) throw new Error('a page of the console has no caller');
  const notice = session?.notice ?? null;
  const draft = session?.draft ?? null;
  if (session !== null) {
    session.notice = null;
    session.draft = null;
  }
  const openAlerts = countOpenAlerts(countAlerts(context.reader().connection));
  const configuredZone = context.config.timezone;
  const timezone = zoneOf(request, configuredZone);
  const path = request.method === 'GET' ? request.url : '/';
  const nowMs = context.clock.now();
  return { caller, session, nowMs, timezone, configuredZone, path, openAlerts, notice, draft, version };
}

function scopeOf(request: FastifyRequest, { context, enqueueSync, slowReads }: ConsoleOptions): Scope {
  const { session, caller } = request;
  const gone = new AbortController();
  request.raw.once('close', () => {
    if (request.raw.destroyed) gone.abort(new ApiError(499, 'cancelled', 'the browser closed the connection'));
  });
  const actor: Actor = { name: session?.person ?? caller?.name ?? '', kind: 'person' };
  return {
    context,
    connection: context.reader().connection,
    actor,
    signal: gone.signal,
    enqueueSync,
    runInThread: slowReads.of(context, actor, gone.signal),
  };
}

/** Remedies that the pages show in place of an error's own remedy, which is a command. The keys are error codes. */
const PAGE_REMEDIES: Readonly<Record<string, { hint: string }>> = {
  unknown_alert: { hint: 'choose it on the page Alerts, with the state All' },
  unknown_period: { hint: 'choose the month on the page Months' },
  unknown_tenant: { hint: 'search for it on the page Tenants' },
};

/** Sends an error page: what failed and what to do. The details of an unexpected error are hidden. */
function sendFault(
  error: unknown,
  { request, reply, options }: { request: FastifyRequest; reply: FastifyReply; options: ConsoleOptions },
): FastifyReply {
  const isExpected = error instanceof AppError;
  const status = isExpected ? statusOf(error) : httpStatusOf(error);
  if (!isExpected && status >= 500) {
    const stack = error instanceof Error ? error.stack : undefined;
    options.logger.error(
      { path: request.routeOptions.url, reason: summarizeError(error).message, stack },
      'page of the console failed',
    );
  }
  const { message, hint } = isExpected
    ? { ...summarizeError(error), ...PAGE_REMEDIES[error.code] }
    : {
        message: status < 500 ? 'The request cannot be read.' : 'The daemon failed to answer; its log has the reason.',
        hint: undefined,
      };
  if (request.caller === null) {
    const page = { next: '/', fault: sentence(message), remedy: hint === undefined ? null : sentence(hint) };
    return sendPage(reply, <SignInPage {...page} provider={options.oidc.provider()} />, status);
  }
  const { redact } = options.context;
  return sendPage(
    reply,
    <ErrorPage visit={visitOf(request, options)} status={status} message={redact(message)} hint={hint} />,
    status,
  );
}

function httpStatusOf(error: unknown): number {
  if (!(error instanceof Error) || !('statusCode' in error)) return 500;
  return typeof error.statusCode === 'number' && error.statusCode >= 400 ? error.statusCode : 500;
}
