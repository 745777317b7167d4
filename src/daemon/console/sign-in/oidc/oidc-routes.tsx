import type { RateLimitOptions } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError, summarizeError } from '../../../../core/errors.ts';
import { sentence } from '../../shell/fault-text.ts';
import { sendPage } from '../../shell/render-page.ts';
import { NoRolePage } from '../no-role-page.tsx';
import { returnPath } from '../return-path.ts';
import { isSecure } from '../sessions.ts';
import type { SignInOptions } from '../sign-in-options.ts';
import { PROVIDER_PATH, RETURN_FIELD, SIGN_IN_PATH, SignInPage } from '../sign-in-page.tsx';

/** The path of the callback address that must be registered at the provider. */
export const CALLBACK_PATH = '/sign-in/callback';

/**
 * Serves signing in at the sign-in provider: the authorization code flow with PKCE, state and nonce. The first route
 * sends the browser to the provider; the second receives the answer and starts a session.
 */
export function addOidcSignIn(
  app: FastifyInstance,
  { oidc, sessions, publicUrl, logger }: SignInOptions,
  rateLimit: RateLimitOptions,
): void {
  const config = { access: 'open', rateLimit } as const;
  const refuse = (request: FastifyRequest, reply: FastifyReply, error: unknown, next: string): FastifyReply => {
    if (!(error instanceof AppError)) throw error;
    logger.warn({ ip: request.ip, reason: summarizeError(error).message }, 'a sign-in over the provider failed');
    const status = error.code === 'oidc_provider' ? 503 : 401;
    return sendPage(reply, <SignInPage next={next} {...signInFault(error)} provider={oidc.provider()} />, status);
  };

  app.get(PROVIDER_PATH, { config }, async (request, reply) => {
    const { [RETURN_FIELD]: wanted } = request.query as Record<string, unknown>;
    const next = returnPath(typeof wanted === 'string' ? wanted : undefined);
    try {
      const provider = await oidc.open();
      if (provider === null) return reply.redirect(SIGN_IN_PATH, 303);
      const pages = publicUrl() ?? `http://${request.headers.host}`;
      const { url, attempt } = await provider.begin(`${pages}${CALLBACK_PATH}`, next);
      const cookie = oidc.attempts.add(attempt, { secure: isSecure(request.headers) });
      return reply.header('set-cookie', cookie).redirect(url.href, 303);
    } catch (error) {
      return refuse(request, reply, error, next);
    }
  });

  app.get(CALLBACK_PATH, { config }, async (request, reply) => {
    const attempt = oidc.attempts.take(request.headers.cookie);
    reply.header('set-cookie', oidc.attempts.forget());
    if (attempt === null) return refuse(request, reply, unknownAttempt(), '/');
    try {
      const provider = await oidc.open();
      if (provider === null) return reply.redirect(SIGN_IN_PATH, 303);
      const start = request.url.indexOf('?');
      const answer = new URLSearchParams(start < 0 ? '' : request.url.slice(start + 1));
      const { person, subject, role, signIn } = oidc.personOf(await provider.finish(answer, attempt));
      if (signIn === null) {
        logger.warn({ ip: request.ip, person, subject }, 'a sign-in without a role was refused');
        return sendPage(reply, <NoRolePage person={person} setting="http.oidc.roles" />, 403);
      }
      sessions.end(request.headers.cookie);
      const { cookie } = sessions.start(signIn, { secure: isSecure(request.headers) });
      logger.info({ person, subject, role, ip: request.ip }, 'signed in over the provider');
      return reply.header('set-cookie', cookie).redirect(attempt.next, 303);
    } catch (error) {
      return refuse(request, reply, error, attempt.next);
    }
  });
}

function unknownAttempt(): AppError {
  const message = 'this sign-in has expired, was used before, or was begun in another browser';
  return new AppError('oidc_refused', message, { hint: 'sign in again' });
}

/** Returns the two texts that the page shows for an error: what failed, and what to do. */
function signInFault(error: AppError): { fault: string; remedy: string | null } {
  const { message, hint } = summarizeError(error);
  return { fault: sentence(message), remedy: hint === undefined ? null : sentence(hint) };
}
