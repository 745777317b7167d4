import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance } from 'fastify';
import type { Logger } from '../../../core/logger.ts';
import { callerOf } from '../../api/callers.ts';
import { ApiError } from '../../api/problem.ts';
import { sendPage } from '../shell/render-page.ts';
import { fieldsOf, personOf, requireForm, requireSameOrigin } from './form-guard.ts';
import { returnPath } from './return-path.ts';
import type { Sessions, SessionToken } from './sessions.ts';
import { RETURN_FIELD, SignInPage, TOKEN_FIELD } from './sign-in-page.tsx';

const ATTEMPTS_PER_MINUTE = 10;

export interface SignInOptions {
  sessions: Sessions;
  tokens: () => readonly SessionToken[];
  publicUrl: () => string | null;
  logger: Logger;
}

/** Serves the page that asks for a token, and its two forms: sign in and sign out. */
export async function addSignIn(
  app: FastifyInstance,
  { sessions, tokens, publicUrl, logger }: SignInOptions,
): Promise<void> {
  await app.register(rateLimit, {
    global: false,
    errorResponseBuilder: (_request, { after }) =>
      new ApiError(429, 'too_many_attempts', `more than ${ATTEMPTS_PER_MINUTE} attempts to sign in within a minute`, {
        hint: `try again in ${after}`,
      }),
  });
  app.get('/sign-in', { config: { access: 'open' } }, (request, reply) => {
    const { next } = request.query as Record<string, unknown>;
    const path = returnPath(typeof next === 'string' ? next : undefined);
    if (request.session !== null) return reply.redirect(path, 303);
    return sendPage(reply, <SignInPage next={path} fault={null} />);
  });
  app.post(
    '/sign-in',
    { config: { access: 'open', rateLimit: { max: ATTEMPTS_PER_MINUTE, timeWindow: '1 minute' } } },
    (request, reply) => {
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
        const fault = 'This token is not valid.';
        return sendPage(reply, <SignInPage next={next} fault={fault} person={person ?? undefined} />, 401);
      }
      sessions.end(request.headers.cookie);
      const cookie = sessions.start(token, { person, secure: isSecure(request.headers) });
      logger.info({ token: token.name, person, ip: request.ip }, 'signed in');
      return reply.header('set-cookie', cookie).redirect(next, 303);
    },
  );
  app.post('/sign-out', { config: { access: 'form' } }, (request, reply) => {
    requireForm(request, publicUrl());
    return reply.header('set-cookie', sessions.end(request.headers.cookie)).redirect('/sign-in', 303);
  });
}

/** Reports whether the browser uses HTTPS, so that its cookie is sent over HTTPS only. Behind a proxy, only the proxy knows. */
export function isSecure(headers: Readonly<Record<string, unknown>>): boolean {
  return headers['x-forwarded-proto'] === 'https';
}
