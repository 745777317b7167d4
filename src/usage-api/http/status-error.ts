import {
  type ApiError,
  BadRequestError,
  type EndpointLabel,
  ForbiddenError,
  NotFoundError,
  RateLimitedError,
  RedirectedError,
  ServerError,
  UnauthorizedError,
} from '../errors.ts';

/** What an answer other than 2xx says beside its status. */
export interface FailedAnswer {
  endpoint: EndpointLabel;
  /** The envelope's message, already cleaned. */
  serverMessage: string | null;
  /** Where a 3xx points to, already cleaned. */
  location: string | null;
  retryAfterMs: number | null;
  /** Our clock minus the service's, milliseconds. */
  clockSkewMs: number | null;
}

/** The one place that turns an HTTP status into an error class. */
export function statusError(status: number, answer: FailedAnswer): ApiError {
  const { endpoint, serverMessage, retryAfterMs, clockSkewMs } = answer;
  const said = serverMessage === null ? '' : `: ${serverMessage}`;
  const message = `${endpoint}: the service answered ${status}${said}`;
  const options = { endpoint, status, serverMessage };
  if (status === 401) return new UnauthorizedError(message, { ...options, clockSkewMs });
  if (status === 403) return new ForbiddenError(message, options);
  if (status === 404) return new NotFoundError(message, options);
  if (status === 429) return new RateLimitedError(message, { ...options, retryAfterMs });
  if (status >= 500) return new ServerError(message, options);
  if (status >= 400) return new BadRequestError(message, options);
  const target = answer.location === null ? 'without saying where to' : `to ${answer.location}`;
  return new RedirectedError(`${endpoint}: the service redirects (${status}) ${target}; not followed`, options);
}
