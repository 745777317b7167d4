import { type Dispatcher, Pool } from 'undici';
import { ProxyRefusedError } from './proxy-refusal.ts';

/** A proxy for https, and the hosts that are reached without it in the form of `NO_PROXY`. */
export interface ProxySettings {
  url: string;
  noProxy: string;
}

/** Hosts that are never reached through a proxy: their traffic stays on this machine. */
const LOCAL_NAMES = 'localhost,127.0.0.1,[::1]';

/**
 * Returns the options of undici's `EnvHttpProxyAgent`. Plain http, which is for this machine only, always goes directly. A
 * tunnel that the proxy refuses fails with ProxyRefusedError.
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

/** Connections to a proxy. undici names the status of a refused tunnel only in the text of its error. */
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
