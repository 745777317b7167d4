import { type Dispatcher, EnvHttpProxyAgent, errors, Pool } from 'undici';
import { type ProxySettings, proxyAgentOptions } from '../../net/proxy.ts';

/** The part of undici's `Dispatcher` that sends requests. */
export type RequestDispatcher = Pick<Dispatcher, 'dispatch'>;

/** Connections to one origin, through a proxy if one is configured. */
export type OriginPool = RequestDispatcher & { close(): Promise<void> };

export interface Route {
  /** Certificates (PEM) to trust instead of the public ones. */
  ca?: string | null | undefined;
  proxy?: ProxySettings | null | undefined;
  /** Sends all requests instead of the client's own connections. */
  dispatcher?: RequestDispatcher | undefined;
}

/** Opens connections with one request at a time each. The deadline of each attempt replaces undici's own timeouts. */
export function openPool(origin: string, connections: number, { ca, proxy, dispatcher }: Route): OriginPool {
  if (dispatcher !== undefined) return wrapDispatcher(origin, dispatcher);
  const tls = ca ? { ca } : {};
  const common = { connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 };
  if (!proxy || !origin.startsWith('https:')) return new Pool(origin, { ...common, connect: tls });
  const agent = new EnvHttpProxyAgent({ ...common, connect: tls, requestTls: tls, ...proxyAgentOptions(proxy) });
  return {
    dispatch: (options, handler) => agent.dispatch({ ...options, origin }, handler),
    close: () => agent.close(),
  };
}

/** Wraps a dispatcher of the caller, which `close` leaves open. */
function wrapDispatcher(origin: string, dispatcher: RequestDispatcher): OriginPool {
  let closed = false;
  return {
    dispatch(options, handler) {
      if (closed) throw new errors.ClientClosedError();
      return dispatcher.dispatch({ ...options, origin }, handler);
    },
    close() {
      closed = true;
      return Promise.resolve();
    },
  };
}
