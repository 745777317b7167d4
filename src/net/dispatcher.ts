import { Agent, buildConnector, EnvHttpProxyAgent } from 'undici';
import { guardedLookup, type OutboundPolicy, refusedLiteral } from './address-guard.ts';
import { type ProxySettings, proxyAgentOptions } from './proxy.ts';

export interface AgentOptions {
  timeoutMs: number;
  /** Certificates (PEM) that count instead of the public ones. */
  ca?: string | undefined;
  /** For https. It resolves names itself, so the policy judges only what connects without it. */
  proxy?: ProxySettings | null | undefined;
}

export function guardedAgent(
  policy: OutboundPolicy,
  { timeoutMs, ca, proxy }: AgentOptions,
): Agent | EnvHttpProxyAgent {
  const tls = ca === undefined ? {} : { ca };
  const connector = buildConnector({ lookup: guardedLookup(policy), timeout: timeoutMs, ...tls });
  const connect: buildConnector.connector = (options, callback) => {
    // The socket layer asks no resolver about an address, so this is judged here.
    const fault = refusedLiteral(options.hostname, policy);
    if (fault === null) connector(options, callback);
    else callback(fault, null);
  };
  if (!proxy) return new Agent({ connect });
  return new EnvHttpProxyAgent({ connect, requestTls: tls, ...proxyAgentOptions(proxy) });
}
