import type { Dispatcher } from 'undici';
import type { Clock } from '../core/clock.ts';
import { type SigningCredentials, signRequest } from './sign.ts';

/**
 * Signs whatever is dispatched, at the moment it is dispatched. Retries dispatch again from outside this interceptor,
 * so no attempt carries the X-Valid-Until of an earlier one.
 */
export function createSignInterceptor(
  credentials: SigningCredentials,
  clock: Clock,
): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) =>
    dispatch({ ...options, headers: { ...options.headers, ...signRequest(credentials, clock.now()) } }, handler);
}
