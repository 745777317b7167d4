import { type Dispatcher, Pool } from 'undici';
import { ProxyRefusedError } from './proxy-refusal.ts';

/**
 * A proxy for https. `noProxy` lists the hosts that are reached without the proxy, in the form of the variable
 * `NO_PROXY`.
 */
export interface ProxySettings {
  url: string;
  noProxy: string;
}

/** Names of this machine. Connections to them never go through a proxy. */
const LOCAL_NAMES = 'localhost,127.0.0.1,[::1]';

/**
 * Returns the options for undici's `EnvHttpProxyAgent`. Requests by plain http never use the proxy, because http is
 * allowed only for this machine. A request whose tunnel the proxy refuses fails with ProxyRefusedError.
 */
export function proxyAgentOptions({ url, noProxy }: ProxySettings): {
  httpProxy: string;
  httpsProxy: string;
  noProxy: string;
  clientFactory: (origin: URL, options: object) => Dispatcher;
} {
  const everything = noProxy.trim() === '*';
  return {
    httpProxy: '',
    httpsProxy: url,
    noProxy: everything ? '*' : `${noProxy},${LOCAL_NAMES}`,
    clientFactory: (origin, options) => new TunnelPool(origin, options),
  };
}

/**
 * A pool of connections to a proxy that throws ProxyRefusedError if the proxy refuses a tunnel. undici's own error has
 * the status of the refusal only in its message.
 */
class TunnelPool extends Pool {
  override connect(options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData>;
  override connect(options: Dispatcher.ConnectOptions, callback: ConnectCallback): void;
  override connect(
    options: Dispatcher.ConnectOptions,
    callback?: ConnectCallback,
  ): Promise<Dispatcher.ConnectData> | undefined {
    if (callback === undefined) return this.#tunnel(options);
    super.connect(options, callback);
    return undefined;
  }

  async #tunnel(options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
    const answer = await super.connect(options);
    if (answer.statusCode === 200) return answer;
    answer.socket.on('error', () => undefined).destroy();
    throw new ProxyRefusedError(options.path ?? 'the host', answer.statusCode);
  }
}

type ConnectCallback = (error: Error | null, data: Dispatcher.ConnectData) => void;
