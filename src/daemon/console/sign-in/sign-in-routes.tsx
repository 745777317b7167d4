import type { RateLimitOptions } from '@fastify/rate-limit';
import type { FastifyInstance } from 'fastify';
import { callerOf } from '../../api/callers.ts';
import { ApiError } from '../../api/problem.ts';
import { sendPage } from '../shell/render-page.ts';
import { fieldsOf, personOf, requireForm, requireSameOrigin } from './form-guard.ts';
import { addOidcSignIn } from './oidc/oidc-routes.tsx';
import { returnPath } from './return-path.ts';
import { isSecure, signInWithToken } from './sessions.ts';
import type { SignInOptions } from './sign-in-options.ts';
import { RETURN_FIELD, SIGN_IN_PATH, SignInPage, TOKEN_FIELD } from './sign-in-page.tsx';

const ATTEMPTS_PER_MINUTE = 10;
/** Limits how often one IP address may try to sign in, with a token or at the provider. */
const LIMITED: RateLimitOptions = {
  max: ATTEMPTS_PER_MINUTE,
  timeWindow: '1 minute',
  keyGenerator: ({ ip }) => ip,
  errorResponseBuilder: (_request, { after }) =>
    new ApiError(429, 'too_many_attempts', `more than ${ATTEMPTS_PER_MINUTE} attempts to sign in within a minute`, {
      hint: `try again in ${after}`,
    }),
};

/**
 * Serves the page that asks for a token, the forms that sign in and sign out, and signing in at the sign-in provider.
 * The app must already have a rate limit.
 */
export function addSignIn(app: FastifyInstance, options: SignInOptions): void {
  const { sessions, tokens, oidc, publicUrl, logger } = options;
  app.get(SIGN_IN_PATH, { config: { access: 'open' } }, (request, reply) => {
    const { next } = request.query as Record<string, unknown>;
    const path = returnPath(typeof next === 'string' ? next : undefined);
    if (request.session !== null) return reply.redirect(path, 303);
    return sendPage(reply, <SignInPage next={path} fault={null} provider={oidc.provider()} />);
  });
  app.post(SIGN_IN_PATH, { config: { access: 'open', rateLimit: LIMITED } }, (request, reply) => {
    requireSameOrigin(request, publicUrl());
    const fields = fieldsOf(request);
    const next = returnPath(fields.get(RETURN_FIELD) ?? undefined);
    const given = Buffer.from((fields.get(TOKEN_FIELD) ?? '').trim(), 'utf8');
    const known = tokens();
    const caller = callerOf(given, known);
    const token = known.find(({ name }) => name === caller?.name);
    const person = personOf(fields);
    if (token === undefined) {
      logger.warn({ ip: request.ip }, 'a sign-in with a wrong token was refused');
      const page = { next, fault: 'This token is not valid.', person: person ?? undefined, provider: oidc.provider() };
      return sendPage(reply, <SignInPage {...page} />, 401);
    }
    sessions.end(request.headers.cookie);
    const { cookie } = sessions.start(signInWithToken(token, person, tokens), { secure: isSecure(request.headers) });
    logger.info({ token: token.name, person, ip: request.ip }, 'signed in');
    return reply.header('set-cookie', cookie).redirect(next, 303);
  });
  app.post('/sign-out', { config: { access: 'form', role: 'read' } }, (request, reply) => {
    requireForm(request, publicUrl());
    return reply.header('set-cookie', sessions.end(request.headers.cookie)).redirect(SIGN_IN_PATH, 303);
  });
  addOidcSignIn(app, options, LIMITED);
}
