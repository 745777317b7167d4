import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hasRole } from '../../core/text/roles.ts';
import { isLoopbackHost } from '../../net/local-address.ts';
import { API_PATH } from '../api/api-routes.ts';
import { callerOf } from '../api/callers.ts';
import { ApiError } from '../api/problem.ts';
import { ACKNOWLEDGE_ROUTE } from '../console/acknowledge/acknowledge-routes.tsx';
import { sendPage } from '../console/shell/render-page.ts';
import { NoRolePage } from '../console/sign-in/no-role-page.tsx';
import { isSessionOf, type ProxySignIn } from '../console/sign-in/proxy-sign-in.ts';
import { isSecure, type Sessions, type SessionToken, signInWithToken } from '../console/sign-in/sessions.ts';
import { SignInPage } from '../console/sign-in/sign-in-page.tsx';
import { MCP_PATH } from '../mcp/mcp-routes.ts';
import { isApi, placeOf, refuse } from './refusal.ts';
import { tokenOfHeader, tokenOfLink, withoutToken } from './request-token.ts';

const TOKEN_HINT = 'send a token of `http.tokens` in the header `Authorization: Bearer TOKEN`';
/**
 * Paths that need no token, in addition to paths of the console. The acknowledge links in messages have a signature
 * instead.
 */
const OPEN_PATHS = ['/healthz', '/readyz', ACKNOWLEDGE_ROUTE];
export const METRICS_PATH = '/metrics';

export interface GuardOptions {
  host: string;
  openMetrics: () => boolean;
  sessions: Sessions;
  tokens: () => readonly SessionToken[];
  proxySignIn: ProxySignIn;
  /**
   * Null if the console is not served. `provider` returns the host of the sign-in provider that the sign-in page links
   * to; null if there is none.
   */
  console: { provider: () => string | null } | null;
}

/**
 * Adds checks that run before the route of each request. They check the host; who the caller is (by a token, else the
 * headers of a trusted proxy, else the session of a browser); and that only forms, the API and MCP change anything.
 */
export function addGuards(app: FastifyInstance, options: GuardOptions): void {
  const { host, openMetrics, sessions, tokens } = options;
  const loopback = isLoopbackHost(host);
  app.decorateRequest('caller', null);
  app.decorateRequest('session', null);
  app.addHook('onRequest', async (request, reply) => {
    if (loopback && !isLoopbackHostHeader(request.headers.host)) {
      return refuse(request, reply, 421, {
        code: 'unknown_host',
        detail: `the host ${JSON.stringify(request.headers.host ?? '')} is not an address of this machine's own`,
        hint: 'use 127.0.0.1 or localhost as the host',
      });
    }
    // Compares the matched route rather than the URL, so that no spelling of a URL bypasses the token.
    const { url = '', config } = request.routeOptions;
    const open = OPEN_PATHS.includes(url) || config.access === 'open' || (url === METRICS_PATH && openMetrics());
    // A token in the request identifies the caller. The headers of a proxy and the session of a browser are used only
    // if the request has no token.
    const given = tokenOfLink(request) ?? tokenOfHeader(request.headers);
    if (given !== null) request.caller = callerOf(given, tokens());
    else if (!findSession(request, reply, options) && !open) return refuseWithoutRole(request, reply, options);
    if (!open && request.caller === null) return refuseStranger(request, reply, { ...options, given });
    // The link of `usage-ledger open` starts a session, so that the token does not stay in the address bar or the
    // history.
    const clean = withoutToken(request.url);
    const token = tokens().find(({ name }) => name === request.caller?.name);
    if (!open && given !== null && clean !== null && token !== undefined) {
      sessions.end(request.headers.cookie);
      const signIn = signInWithToken(token, null, tokens);
      const { cookie } = sessions.start(signIn, { secure: isSecure(request.headers) });
      return reply.header('set-cookie', cookie).redirect(clean, 303);
    }
    requireRoleOfForm(request);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead || config.access !== undefined || url === ACKNOWLEDGE_ROUTE) return;
    // bull-board has routes that change queues; this is a second barrier besides its read-only mode.
    if (!url.startsWith(`${API_PATH}/`) && url !== MCP_PATH) {
      return refuse(request, reply.header('allow', 'GET, HEAD'), 405, {
        code: 'read_only',
        detail: `there is no ${placeOf(request)}`,
        hint: 'ask with GET; /api has the paths that take other methods',
      });
    }
    // A browser also sends its cookie with forms from other sites on this machine.
    if (request.headers.authorization === undefined) {
      return refuse(request, reply, 401, {
        code: 'unauthorized',
        detail: 'a change needs a token in the Authorization header, not a cookie',
        hint: TOKEN_HINT,
      });
    }
  });
}

/**
 * Finds the session of a request without a token. The headers of a trusted proxy take precedence over the cookie: if
 * the browser's session belongs to another person than the proxy names, the browser gets a new session. Returns false
 * if the proxy names a person without a role.
 */
function findSession(request: FastifyRequest, reply: FastifyReply, { sessions, proxySignIn }: GuardOptions): boolean {
  const { cookie } = request.headers;
  const found = sessions.find(cookie);
  const named = proxySignIn.personOf(request);
  if (named === null) {
    // A session that was started by the proxy's headers is valid only together with such headers.
    request.session = found?.method === 'proxy' ? null : found;
  } else if (named.role === null) {
    return false;
  } else if (found !== null && isSessionOf(found, named)) {
    request.session = found;
  } else if (!isBrowser(request)) {
    // A script behind the proxy gets no session, because nothing would end the session.
    request.caller = { name: named.person, role: named.role };
    return true;
  } else {
    sessions.end(cookie);
    const started = sessions.start(proxySignIn.signInOf(named, named.role), { secure: isSecure(request.headers) });
    request.session = started.session;
    reply.header('set-cookie', started.cookie);
  }
  request.caller = request.session?.caller ?? null;
  return true;
}

/** Refuses a person whom the proxy has signed in, but whose groups give no role. */
function refuseWithoutRole(request: FastifyRequest, reply: FastifyReply, options: GuardOptions): FastifyReply {
  if (isBrowser(request) && options.console !== null) {
    const person = options.proxySignIn.personOf(request)?.person ?? '';
    return sendPage(reply, NoRolePage({ person, setting: 'http.proxy_sign_in.roles' }), 403);
  }
  return refuse(request, reply, 403, {
    code: 'forbidden',
    detail: 'none of your groups gives a role',
    hint: 'ask the operator to add a group of yours to http.proxy_sign_in.roles',
  });
}

/** Refuses a request without a valid token. A browser gets the page that asks for a token. */
function refuseStranger(
  request: FastifyRequest,
  reply: FastifyReply,
  { console, given }: GuardOptions & { given: Buffer | null },
): FastifyReply {
  if (isBrowser(request) && console !== null) {
    const next = request.method === 'GET' ? (withoutToken(request.url) ?? request.url) : '/';
    const fault = withoutToken(request.url) === null ? null : 'The token of this link is not valid.';
    return sendPage(reply, SignInPage({ next, fault, provider: console.provider() }), 401);
  }
  reply.header('www-authenticate', ['Bearer realm="usage-ledger"', 'Basic realm="usage-ledger", charset="UTF-8"']);
  return refuse(request, reply, 401, {
    code: 'unauthorized',
    detail: given === null ? 'the request has no token' : 'the token of the request is not known here',
    hint: isApi(request)
      ? TOKEN_HINT
      : 'open the link that `usage-ledger open` prints, or send the token as a Bearer token',
  });
}

/**
 * Throws `forbidden` if a form needs a larger role than the caller has. This is checked before the fields of the form
 * are read.
 */
function requireRoleOfForm({ routeOptions, caller }: FastifyRequest): void {
  const { access, role } = routeOptions.config;
  if (access !== 'form' || role === undefined || caller === null || hasRole(caller.role, role)) return;
  throw new ApiError(403, 'forbidden', `this form needs the role ${role}; you have ${caller.role}`, {
    hint: `sign in with the role ${role}`,
  });
}

function isBrowser(request: FastifyRequest): boolean {
  const { authorization, accept = '' } = request.headers;
  return authorization === undefined && accept.includes('text/html') && !isApi(request);
}

/**
 * Reports whether a Host header names a loopback address. This stops DNS rebinding: a website can point its own name to
 * 127.0.0.1 to read these pages, but the browser still sends that name.
 */
function isLoopbackHostHeader(hostHeader: string | undefined): boolean {
  const [, host = ''] = /^(\[[^\]]*\]|[^:]*)(?::\d+)?$/.exec(hostHeader ?? '') ?? [];
  return isLoopbackHost(host);
}
