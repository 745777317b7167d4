import { Agent, buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { guardedLookup, type OutboundPolicy, refusedLiteral } from './address-guard.ts';
import { type ProxySettings, proxyAgentOptions } from './proxy.ts';

/** The settings for connections from this machine to a server. */
export interface Route {
  /** The certificates of the authorities to trust (PEM), instead of the public authorities. */
  ca?: string | null | undefined;
  /**
   * The proxy for https; null or absent: none. The proxy resolves host names itself, so `policy` cannot check the
   * addresses of names that are reached through the proxy.
   */
  proxy?: ProxySettings | null | undefined;
  /** The addresses to which connections are allowed; default: all. */
  policy?: OutboundPolicy | undefined;
}

export interface ConnectionLimits {
  /** The maximum number of connections to one origin; default: no limit. */
  connections?: number | undefined;
  connectTimeoutMs?: number | undefined;
  /** The time limit in milliseconds for the headers of the response; 0 for no limit. */
  headersTimeoutMs: number;
  /** The longest time between two chunks of a body, in milliseconds; 0 for no limit. */
  idleTimeoutMs: number;
}

/** The only method of undici's `Dispatcher` that is needed to send requests. */
export type RequestDispatcher = Pick<Dispatcher, 'dispatch'>;

/** Open connections to one origin, through a proxy if one is configured. */
export type OriginPool = RequestDispatcher & { close(): Promise<void> };

/** Returns a dispatcher that sends requests to any server and opens connections as needed. */
export function openAgent(route: Route, limits: ConnectionLimits): Agent | EnvHttpProxyAgent {
  const options = connectionOptions(route, limits);
  return route.proxy ? openProxyAgent(route, options, route.proxy) : new Agent(options);
}

/**
 * Returns a pool of connections to one origin. Each connection carries one request at a time. A request through a pool
 * takes less CPU time than through an agent.
 */
export function openPool(origin: string, route: Route, limits: ConnectionLimits): OriginPool {
  const options = connectionOptions(route, limits);
  if (!route.proxy || !origin.startsWith('https:')) return new Pool(origin, options);
  const agent = openProxyAgent(route, options, route.proxy);
  return {
    dispatch: (request, handler) => agent.dispatch({ ...request, origin }, handler),
    close: () => agent.close(),
  };
}

type ConnectionOptions = ReturnType<typeof connectionOptions>;

function openProxyAgent(route: Route, options: ConnectionOptions, proxy: ProxySettings): EnvHttpProxyAgent {
  return new EnvHttpProxyAgent({ ...options, requestTls: tlsOptions(route), ...proxyAgentOptions(proxy) });
}

function connectionOptions(route: Route, limits: ConnectionLimits) {
  const { connections, connectTimeoutMs, headersTimeoutMs, idleTimeoutMs } = limits;
  const tls = tlsOptions(route);
  const connect = connectTimeoutMs === undefined ? tls : { ...tls, timeout: connectTimeoutMs };
  return {
    connect: route.policy === undefined ? connect : guardedConnector(route.policy, connect),
    ...(connections === undefined ? {} : { connections }),
    pipelining: 1,
    headersTimeout: headersTimeoutMs,
    bodyTimeout: idleTimeoutMs,
  };
}

function tlsOptions({ ca }: Route): { ca?: string } {
  return ca ? { ca } : {};
}

function guardedConnector(policy: OutboundPolicy, options: buildConnector.BuildOptions): buildConnector.connector {
  const connector = buildConnector({ ...options, lookup: guardedLookup(policy) });
  return (target, callback) => {
    // If the host is an IP address, the socket calls no lookup function, so the address is checked here.
    const fault = refusedLiteral(target.hostname, policy);
    if (fault === null) connector(target, callback);
    else callback(fault, null);
  };
}
