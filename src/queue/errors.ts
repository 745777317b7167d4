import { AppError } from '../core/errors.ts';
import type { RedisFault } from './redis/refusals.ts';

/** Redis did not respond in time or refused a command. Nothing is lost: the ledger still lists the work as due. */
export class RedisUnavailableError extends AppError {
  constructor(place: string, { reason, hint }: RedisFault) {
    super('redis_unavailable', `Redis at ${place} is not available: ${reason}`, { retryable: true, hint });
  }
}

/** `redis-server` is not on PATH, and no `redis_url` replaces it. */
export class RedisMissingError extends AppError {
  constructor() {
    super('redis_missing', 'redis-server is not on PATH', {
      hint: 'install redis-server, or set redis_url to a running Redis or Valkey',
    });
  }
}

/** The daemon's own Redis server did not start; `detail` is the cause. */
export class RedisStartError extends AppError {
  constructor(detail: string, hint: string) {
    super('redis_start_failed', `the private redis-server did not start: ${detail}`, { retryable: true, hint });
  }
}

/** The daemon is stopping. A job that ends with this error runs again in the next daemon. */
export class StoppingError extends AppError {
  constructor() {
    super('stopping', 'the daemon is stopping', { retryable: true });
  }
}
