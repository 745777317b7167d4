import {
  type Route as NetRoute,
  type OriginPool,
  openPool as openOriginPool,
  type RequestDispatcher,
} from '../../net/dispatcher.ts';

export interface ServiceRoute extends Pick<NetRoute, 'ca' | 'proxy'> {
  /** Sends all requests instead of the client's own connections. */
  dispatcher?: RequestDispatcher | undefined;
}

/** Opens connections that each send one request at a time, without undici's timeouts: each attempt has its own. */
export function openServicePool(
  origin: string,
  connections: number,
  { dispatcher, ...route }: ServiceRoute,
): OriginPool {
  if (dispatcher !== undefined) return wrapDispatcher(origin, dispatcher);
  return openOriginPool(origin, route, { connections, headersTimeoutMs: 0, idleTimeoutMs: 0 });
}

/** Wraps a dispatcher that the caller owns. Closing the pool does not close the dispatcher. */
function wrapDispatcher(origin: string, dispatcher: RequestDispatcher): OriginPool {
  let closed = false;
  return {
    dispatch(options, handler) {
      if (closed) throw Object.assign(new Error('the client is closed'), { code: 'UND_ERR_CLOSED' });
      return dispatcher.dispatch({ ...options, origin }, handler);
    },
    close() {
      closed = true;
      return Promise.resolve();
    },
  };
}
