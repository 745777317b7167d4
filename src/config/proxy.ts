import type { ConfigFault } from '../core/errors.ts';
import { proxyRule } from './rules.ts';

export interface ProxyConfig {
  /** May hold a user and a password. */
  url: string;
  /** Hosts that are reached directly, as `NO_PROXY` lists them; this machine always is. */
  noProxy: string;
}

/**
 * The proxy by the `proxy` setting, else by `HTTPS_PROXY`; null for none. Its exceptions are those of `NO_PROXY`. What is
 * wrong with the setting itself is the schema's to say.
 */
export function readProxy(
  setting: unknown,
  env: NodeJS.ProcessEnv,
): { proxy: ProxyConfig | null; faults: ConfigFault[] } {
  const noProxy = env.no_proxy ?? env.NO_PROXY ?? '';
  const given = typeof setting === 'string' ? setting.trim() : '';
  if (given !== '') return { proxy: given === 'none' ? null : { url: given, noProxy }, faults: [] };
  const name = env.https_proxy ? 'https_proxy' : 'HTTPS_PROXY';
  const url = env[name]?.trim() ?? '';
  const mistake = proxyRule(url);
  if (mistake === null) return { proxy: url === '' ? null : { url, noProxy }, faults: [] };
  const hint = 'Write it as http://host:port, or say `proxy: none` in the configuration';
  return { proxy: null, faults: [{ path: name, message: mistake, hint }] };
}
