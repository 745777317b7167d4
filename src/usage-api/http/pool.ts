import { createRequire } from 'node:module';
import type { Dispatcher, EnvHttpProxyAgent, Pool as PoolClass } from 'undici';
import { type ProxySettings, proxyAgentOptions } from '../../core/net/proxy-options.ts';

/**
 * undici's pool from its own file: the entry of the package loads fetch, WebSocket, caches and mocks too, which costs
 * every process that talks to the service 75 ms and 10 MB. The path is not documented, so a new version may move it;
 * then nothing here works, and no test passes.
 */
const require = createRequire(import.meta.url);
const Pool: typeof PoolClass = require('undici/lib/dispatcher/pool.js');

/** Connections to one origin, through a proxy where there is one. */
export type OriginPool = Pick<Dispatcher, 'dispatch'> & { close(): Promise<void> };

export interface PoolOptions {
  connections: number;
  /** Certificates (PEM) that count instead of the public ones. */
  ca?: string | null | undefined;
  proxy?: ProxySettings | null | undefined;
}

/** One request at a time on a connection; the deadline of each attempt takes the place of undici's own timeouts. */
export function openPool(origin: string, { connections, ca, proxy }: PoolOptions): OriginPool {
  const tls = ca ? { ca } : {};
  const common = { connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 };
  if (!proxy || !origin.startsWith('https:')) return new Pool(origin, { ...common, connect: tls });
  // Loaded only where a proxy is used, for the same reason.
  const Agent: typeof EnvHttpProxyAgent = require('undici').EnvHttpProxyAgent;
  const agent = new Agent({ ...common, connect: tls, requestTls: tls, ...proxyAgentOptions(proxy) });
  return {
    dispatch: (options, handler) => agent.dispatch({ ...options, origin }, handler),
    close: () => agent.close(),
  };
}
