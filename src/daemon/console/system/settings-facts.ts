import { channelsOf } from '../../../alerts/pipeline/route.ts';
import type { Config, S3Place } from '../../../config/types.ts';
import { counted, firstOf } from '../../../core/text/words.ts';

const MAX_SETTING_NAMES = 5;

/** Describes the active configuration: each setting with its value. No value is a secret. */
export function settingsFacts(config: Config): [setting: string, value: string][] {
  const { workspaces, backup, publish, http, exports, outlets } = config;
  const hosts = [...new Set(workspaces.map(({ baseUrl }) => new URL(baseUrl).host))];
  const channels = channelsOf(config).map(({ name, type }) => `${name} (${type})`);
  return [
    ['File', config.file ?? 'none: the environment'],
    ['Workspaces', `${counted(workspaces.length, 'workspace')} of ${firstOf(hosts, MAX_SETTING_NAMES)}`],
    ['Ledger', config.ledger.path],
    ['Redis', config.redisUrl === null ? 'private' : 'redis_url'],
    ['Pages', `${http.host}, port ${http.port}`],
    ['Channels', channels.length === 0 ? 'none' : firstOf(channels, MAX_SETTING_NAMES)],
    ['Outlets', outlets.length === 0 ? 'none' : firstOf(settingNames(outlets), MAX_SETTING_NAMES)],
    ['Exports', exports.length === 0 ? 'none' : firstOf(settingNames(exports), MAX_SETTING_NAMES)],
    [
      'Backups',
      backup === null ? 'none' : `${backup.cron} (${backup.timezone}), ${backup.keep} kept in ${settingPlace(backup)}`,
    ],
    ['Copy in Postgres', publish === null ? 'none' : `${new URL(publish.url).host}, schema ${publish.schema}`],
    [
      'Rate cards',
      config.rates === null && config.costs === null ? 'not in the configuration' : 'in the configuration',
    ],
    ['Time zone', config.timezone],
    ['Log level', config.logLevel],
  ];
}

function settingNames(named: readonly { name: string }[]): string[] {
  return named.map(({ name }) => name);
}

function settingPlace({ folder, to }: { folder: string; to: S3Place | null }): string {
  return to === null ? folder : `s3://${to.bucket}/${to.prefix}`;
}
