import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../config/types.ts';
import { isoTime } from '../core/clock.ts';
import { ConfigError, type ConfigFault, summarizeError } from '../core/errors.ts';
import { type OneAtATime, oneAtATime } from '../core/one-at-a-time.ts';
import type { ConfigurationStatus, DaemonLock } from '../ledger/store/file/daemon-lock.ts';
import type { Context } from '../wiring/context.ts';
import type { Daemon } from './daemon.ts';

export interface ReloadOptions {
  context: Context;
  daemon: Pick<Daemon, 'reload' | 'notified'>;
  load(): Promise<Config>;
  lock: Pick<DaemonLock, 'configuration' | 'publishConfiguration'>;
}

/**
 * Reads the configuration each time it is called. One that is right counts from then on, but for what only a start can change.
 * One with a mistake is refused whole: the one before stays, and `status` and an alert say so.
 */
export function createReload({ context, daemon, load, lock }: ReloadOptions): OneAtATime<void> {
  const { logger, clock } = context;
  const say = async (notice: Partial<ConfigurationStatus>, detail: string | null): Promise<void> => {
    const { reads } = lock.configuration;
    lock.publishConfiguration({ ...lock.configuration, refused: null, ...notice, reads: reads + 1 });
    if ((await context.reportJobHealth({ job: 'configuration', detail })) > 0) daemon.notified();
  };
  const read = async (): Promise<void> => {
    const at = isoTime(clock.now());
    try {
      const { config, needsRestart } = takeUp(await load(), context.config);
      await daemon.reload(config);
      logger.info({ workspaces: config.workspaces.length, needsRestart }, 'configuration read again');
      await say({ readAt: at, needsRestart }, null);
    } catch (error) {
      const faults = faultsOf(error);
      const words = faults.map(({ path, message }) => `${path} ${message}`);
      logger.error({ reason: words.join('; ') }, 'configuration refused, the one before stays');
      await say({ refused: { at, faults } }, words.join('; '));
    }
  };
  return oneAtATime(async () => {
    try {
      await read();
    } catch (error) {
      logger.error({ reason: summarizeError(error).message }, 'what came of a configuration could not be recorded');
    }
  });
}

function faultsOf(error: unknown): readonly ConfigFault[] {
  if (error instanceof ConfigError) return error.faults;
  const { message, hint = 'Run `usage-ledger doctor`' } = summarizeError(error);
  return [{ path: 'configuration', message, hint }];
}

/** What is made once, at the start, of these settings. */
const OF_THE_START: Readonly<Record<string, (config: Config) => unknown>> = {
  'ledger.path': ({ ledger }) => ledger.path,
  'ledger.retention_days': ({ ledger }) => ledger.retentionDays,
  'ledger.checkpoint_key_file': ({ ledger }) => ledger.checkpointKeyFile,
  'ledger.reader_group': ({ ledger }) => ledger.readerGroup,
  redis_url: ({ redisUrl }) => redisUrl,
  workers: ({ workers }) => workers,
  log_level: ({ logLevel }) => logLevel,
  'http.host': ({ http }) => http.host,
  'http.port': ({ http }) => http.port,
};

/** What counts of a configuration without a restart, and which of its settings wait for one. */
export function takeUp(next: Config, now: Config): { config: Config; needsRestart: string[] } {
  const needsRestart = Object.entries(OF_THE_START)
    .filter(([, settingOf]) => !isDeepStrictEqual(settingOf(next), settingOf(now)))
    .map(([name]) => name);
  // With another ledger all is another: folders lie beside it.
  if (needsRestart.includes('ledger.path')) return { config: now, needsRestart: ['ledger.path'] };
  const { ledger, redisUrl, workers, logLevel } = now;
  const { host, port } = now.http;
  return { config: { ...next, ledger, redisUrl, workers, logLevel, http: { ...next.http, host, port } }, needsRestart };
}
