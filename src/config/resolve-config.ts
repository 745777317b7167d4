import { dirname, join, resolve } from 'node:path';
import type { RateCardText } from '../billing/rates/rate-card-schema.ts';
import { ConfigError, type ConfigFault, summarizeError } from '../core/errors.ts';
import { followSafeLink } from '../core/process/safe-place.ts';
import { proxyRule } from './rules.ts';
import type { FileConfig } from './schema/file-schema.ts';
import { camelCased, type Exactly, READ_ONCE } from './schema/kinds.ts';
import { settingsOf, workspaceSchema } from './schema/workspace-settings.ts';
import type { Budget, Config, ProxyConfig } from './types.ts';

export interface ConfigSource {
  file: string | null;
  folder: string;
  proxy: ProxyConfig | null;
}

/** Resolves the settings of a file: paths become absolute, and each workspace gets the settings that apply to it. */
export function resolveConfig(document: FileConfig, source: ConfigSource): Config {
  const config = resolveSettings(document, source);
  return config satisfies Exactly<Config, typeof config>;
}

function resolveSettings(document: FileConfig, { file, folder, proxy }: ConfigSource) {
  const { path, checkpoint_key_file: keyFile, ...ledger } = document.ledger;
  const ledgerPath = ledgerPlace(resolve(folder, path), file);
  const beside = (name: string, given: string | undefined) =>
    given === undefined ? join(dirname(ledgerPath), name) : resolve(folder, given);
  const s3 = document.s3 === null ? null : { ...document.s3, proxy };
  const placed = (to: NonNullable<FileConfig['backup']>['to']) =>
    to === null || s3 === null ? null : { access: s3, ...to };
  const { backup, timezone } = document;
  const { token_file: tokenFile, ...http } = document.http;
  return {
    /** Absolute path of the configuration file; null if only the environment is used. */
    file,
    /**
     * Data other than history is kept for `retentionDays`. Without `checkpointKeyFile`, the checkpoint key is in the
     * ledger's folder.
     */
    ledger: camelCased({
      ...ledger,
      path: ledgerPath,
      checkpoint_key_file: keyFile === undefined ? undefined : resolve(folder, keyFile),
    }),
    /** The address of Redis; null if the daemon starts a private redis-server. */
    redisUrl: document.redis_url || null,
    /** The maximum number of concurrent runs across all workspaces of a daemon. */
    workers: document.workers,
    /** If no token is set, the pages require the token in `tokenFile`, which the daemon creates. */
    http: {
      ...http,
      tokenFile: tokenFile === undefined ? `${ledgerPath}.token` : resolve(folder, tokenFile),
    },
    /** The time zone of schedules, and of workspaces and channels that set none. */
    timezone,
    proxy,
    s3,
    backup:
      backup === null ? null : { ...backup, timezone, folder: beside('backups', backup.folder), to: placed(backup.to) },
    publish: document.publish,
    outlets: document.outlets,
    exports: document.exports.map(({ workspace: workspaceId = null, ...given }) => ({
      ...given,
      workspaceId,
      timezone,
      folder: beside('exports', given.folder),
      to: placed(given.to),
    })),
    /** The rate cards, unparsed; null if the configuration does not mention rates. */
    rates: document.rates as readonly RateCardText[] | null,
    /** The provider's prices on cards of the same form; null if the configuration does not mention costs. */
    costs: document.costs as readonly RateCardText[] | null,
    close: document.close,
    statement: document.statement,
    focus: document.focus,
    workspaces: document.workspaces.map((own) => {
      const workspace = workspaceSchema.parse(settingsOf(own, document.defaults), READ_ONCE);
      return {
        ...workspace,
        timezone: workspace.timezone ?? timezone,
        alerts: { ...workspace.alerts, ...resolveBudgets(workspace.id, document.budgets) },
      };
    }),
    alerts: { channels: document.alerts.channels.map((channel) => withTimezone(channel, timezone)) },
    heartbeats: document.alerts.heartbeats,
    logLevel: document.log_level,
  };
}

function withTimezone<Channel extends { timezone?: string }>(channel: Channel, byDefault: string): Channel {
  return { ...channel, timezone: channel.timezone ?? byDefault };
}

function resolveBudgets(workspaceId: string, all: FileConfig['budgets']): { budgets?: readonly Budget[] } {
  const own = all.filter(({ workspace }) => workspace === undefined || workspace === workspaceId);
  return own.length === 0 ? {} : { budgets: own.map(({ workspace, ...budget }) => budget) };
}

/** Follows links in the ledger's path, because related files are stored next to the file itself. */
function ledgerPlace(path: string, configFile: string | null): string {
  try {
    return followSafeLink(path, 'the ledger');
  } catch (error) {
    const { message, hint = 'Write the place of the file itself' } = summarizeError(error);
    throw new ConfigError(configFile, [{ path: 'ledger.path', message, hint }]);
  }
}

/**
 * Returns the proxy of the `proxy` setting, else of `HTTPS_PROXY`; null for direct connections. The hosts in `NO_PROXY`
 * are reached directly. Faults are only those of `HTTPS_PROXY`; the schema reports those of the setting.
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
  const hint = 'Write it as http://host:port, or set `proxy: none` in the configuration';
  return { proxy: null, faults: [{ path: name, message: mistake, hint }] };
}
