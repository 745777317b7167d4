import { Agent, buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { guardedLookup, type OutboundPolicy, refusedLiteral } from './address-guard.ts';
import { type ProxySettings, proxyAgentOptions } from './proxy.ts';

/** The way from this machine to a server. */
export interface Route {
  /** Certificates (PEM) to trust instead of the public ones. */
  ca?: string | null | undefined;
  /** Proxy for https. It resolves names itself, so the policy judges only what connects without it. */
  proxy?: ProxySettings | null | undefined;
  /** The addresses that may be connected to; default: all. */
  policy?: OutboundPolicy | undefined;
}

export interface ConnectionLimits {
  /** Maximum of connections to one origin; default: no limit. */
  connections?: number | undefined;
  connectTimeoutMs?: number | undefined;
  /** Milliseconds until the headers of the response; 0: no limit. */
  headersTimeoutMs: number;
  /** Maximum of milliseconds between two chunks of a body; 0: no limit. */
  idleTimeoutMs: number;
}

/** The part of undici's `Dispatcher` that sends requests. */
export type RequestDispatcher = Pick<Dispatcher, 'dispatch'>;

/** Connections to one origin, through a proxy if one is configured. */
export type OriginPool = RequestDispatcher & { close(): Promise<void> };

/** Opens connections to any server. */
export function openAgent(route: Route, limits: ConnectionLimits): Agent | EnvHttpProxyAgent {
  const options = connectionOptions(route, limits);
  return route.proxy ? openProxyAgent(route, options, route.proxy) : new Agent(options);
}

/** Opens connections to one origin, with one request at a time each. A request costs less than through an agent. */
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
    // The socket layer asks no resolver about an address, so the guard judges it here.
    const fault = refusedLiteral(target.hostname, policy);
    if (fault === null) connector(target, callback);
    else callback(fault, null);
  };
}
