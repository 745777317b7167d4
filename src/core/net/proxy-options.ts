/** A proxy for https, and the hosts that are reached without it, as `NO_PROXY` lists them. */
export interface ProxySettings {
  url: string;
  noProxy: string;
}

/** What never goes through a proxy: traffic that stays on this machine. */
const THIS_MACHINE = 'localhost,127.0.0.1,[::1]';

/** The same for undici's `EnvHttpProxyAgent`: plain http, which is for this machine only, always goes directly. */
export function proxyAgentOptions({ url, noProxy }: ProxySettings): {
  httpProxy: string;
  httpsProxy: string;
  noProxy: string;
} {
  const everything = noProxy.trim() === '*';
  return { httpProxy: '', httpsProxy: url, noProxy: everything ? '*' : `${noProxy},${THIS_MACHINE}` };
}
