import { type Dispatcher, EnvHttpProxyAgent, errors, Pool } from 'undici';
import { type ProxySettings, proxyAgentOptions } from '../../core/net/proxy-options.ts';

/** What sends requests: undici's `Dispatcher`, or anything that answers as one. */
export type RequestDispatcher = Pick<Dispatcher, 'dispatch'>;

/** Connections to one origin, through a proxy where there is one. */
export type OriginPool = RequestDispatcher & { close(): Promise<void> };

export interface Route {
  /** Certificates (PEM) that count instead of the public ones. */
  ca?: string | null | undefined;
  proxy?: ProxySettings | null | undefined;
  /** Sends all requests instead of connections of our own. */
  dispatcher?: RequestDispatcher | undefined;
}

/** One request at a time on a connection; the deadline of each attempt takes the place of undici's own timeouts. */
export function openPool(origin: string, connections: number, { ca, proxy, dispatcher }: Route): OriginPool {
  if (dispatcher !== undefined) return lentPool(origin, dispatcher);
  const tls = ca ? { ca } : {};
  const common = { connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 };
  if (!proxy || !origin.startsWith('https:')) return new Pool(origin, { ...common, connect: tls });
  const agent = new EnvHttpProxyAgent({ ...common, connect: tls, requestTls: tls, ...proxyAgentOptions(proxy) });
  return {
    dispatch: (options, handler) => agent.dispatch({ ...options, origin }, handler),
    close: () => agent.close(),
  };
}

/** A dispatcher belongs to who gave it, and stays open. */
function lentPool(origin: string, dispatcher: RequestDispatcher): OriginPool {
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
