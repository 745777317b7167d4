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
  daemon: Pick<Daemon, 'reload' | 'wakeDeliveries'>;
  load(): Promise<Config>;
  lock: Pick<DaemonLock, 'configuration' | 'publishConfiguration'>;
}

/**
 * Returns a function that reloads the configuration. A valid configuration is applied, except for settings that need a
 * restart. An invalid configuration is rejected as a whole: the previous configuration stays active, and `status` and
 * an alert report the mistakes.
 */
export function createReload({ context, daemon, load, lock }: ReloadOptions): OneAtATime<void> {
  const { logger, clock } = context;
  const publishResult = async (notice: Partial<ConfigurationStatus>, detail: string | null): Promise<void> => {
    const { reads } = lock.configuration;
    lock.publishConfiguration({ ...lock.configuration, refused: null, ...notice, reads: reads + 1 });
    if ((await context.reportJobHealth({ job: 'configuration', detail })) > 0) daemon.wakeDeliveries();
  };
  const read = async (): Promise<void> => {
    const at = isoTime(clock.now());
    try {
      const { config, needsRestart } = mergeReload(await load(), context.config);
      await daemon.reload(config);
      logger.info({ workspaces: config.workspaces.length, needsRestart }, 'configuration reloaded');
      await publishResult({ readAt: at, needsRestart }, null);
    } catch (error) {
      const faults = configFaults(error);
      const texts = faults.map(({ path, message }) => `${path} ${message}`);
      logger.error({ reason: texts.join('; ') }, 'configuration rejected, the previous one stays active');
      await publishResult({ refused: { at, faults } }, texts.join('; '));
    }
  };
  return oneAtATime(async () => {
    try {
      await read();
    } catch (error) {
      logger.error({ reason: summarizeError(error).message }, 'could not record the result of a configuration reload');
    }
  });
}

function configFaults(error: unknown): readonly ConfigFault[] {
  if (error instanceof ConfigError) return error.faults;
  const { message, hint = 'run `usage-ledger doctor`' } = summarizeError(error);
  return [{ path: 'configuration', message, hint }];
}

/** Settings that only a restart can change. */
const RESTART_SETTINGS: Readonly<Record<string, (config: Config) => unknown>> = {
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

/** Merges a reloaded configuration into the active one, and lists the changed settings that need a restart. */
export function mergeReload(next: Config, now: Config): { config: Config; needsRestart: string[] } {
  const needsRestart = Object.entries(RESTART_SETTINGS)
    .filter(([, settingOf]) => !isDeepStrictEqual(settingOf(next), settingOf(now)))
    .map(([name]) => name);
  // If the ledger's path changes, nothing is applied, because other paths are derived from it.
  if (needsRestart.includes('ledger.path')) return { config: now, needsRestart: ['ledger.path'] };
  const { ledger, redisUrl, workers, logLevel } = now;
  const { host, port } = now.http;
  return { config: { ...next, ledger, redisUrl, workers, logLevel, http: { ...next.http, host, port } }, needsRestart };
}
