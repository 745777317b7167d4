import { AppError } from '../core/errors.ts';
import type { RedisFault } from './redis/refusals.ts';

/** Redis did not answer in time or refused a command. The work it would have carried is still due in the ledger. */
export class RedisUnavailableError extends AppError {
  constructor(place: string, { reason, hint }: RedisFault) {
    super('redis_unavailable', `Redis at ${place} is not available: ${reason}`, { retryable: true, hint });
  }
}

/** No `redis-server` on PATH, and no `redis_url` that would make one unnecessary. */
export class RedisMissingError extends AppError {
  constructor() {
    super('redis_missing', 'redis-server is not on PATH', {
      hint: 'install redis-server, or set redis_url to a Redis or Valkey that runs already',
    });
  }
}

/** The private server did not come up; `detail` says what was seen of it. */
export class RedisStartError extends AppError {
  constructor(detail: string, hint: string) {
    super('redis_start_failed', `the private redis-server did not start: ${detail}`, { retryable: true, hint });
  }
}

/** The program is going down: a handler that ends with this error is run again by the next daemon. */
export class StoppingError extends AppError {
  constructor() {
    super('stopping', 'the daemon is stopping', { retryable: true });
  }
}
