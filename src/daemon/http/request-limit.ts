import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sleep, systemClock } from '../../core/clock.ts';
import { ApiError } from '../api/problem.ts';

/**
 * A request over the limit is refused after this time, so that a caller who repeats requests without a pause does not
 * slow down runs and other callers.
 */
const REFUSAL_DELAY_MS = 1_000;

interface RequestLimit {
  perMinute: number;
  /** Returns the name of the caller. Requests with the same name share a limit. */
  callerOf: (request: FastifyRequest) => string;
  /** The reason in the answer, such as `more than 300 pages in a minute`. */
  message: string;
}

/**
 * Limits the requests of each caller in a minute. A request over the limit gets status 429 and `Retry-After`. The limit
 * applies to the routes of `app` that are added afterwards; a route may have its own limit or, with `rateLimit: false`,
 * none.
 */
export async function limitRequests(
  app: FastifyInstance,
  { perMinute, callerOf, message }: RequestLimit,
): Promise<void> {
  const overLimit = new WeakSet<object>();
  app.addHook('onSend', async (request) => {
    if (overLimit.has(request)) await sleep(systemClock, REFUSAL_DELAY_MS);
  });
  await app.register(rateLimit, {
    max: perMinute,
    timeWindow: '1 minute',
    keyGenerator: callerOf,
    errorResponseBuilder: (request, { after }) => {
      overLimit.add(request);
      return new ApiError(429, 'too_many_requests', message, { hint: `try again in ${after}` });
    },
  });
}
