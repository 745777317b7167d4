import { resolve } from 'node:path';
import { ConfigError, summarizeError } from '../../core/errors.ts';
import { isLoopbackHost } from '../../core/net/loopback.ts';
import { followSafeLink } from '../../core/process/safe-place.ts';
import type { FileConfig } from '../schema/file-schema.ts';
import type { Config, ProxyConfig } from '../types.ts';
import { resolveChannel } from './resolve-channel.ts';
import {
  type Places,
  resolveBackup,
  resolveExport,
  resolveFocus,
  resolvePublish,
  resolveS3,
} from './resolve-outlets.ts';
import { resolveWorkspace } from './resolve-workspace.ts';

export const DEFAULT_HTTP = { host: '127.0.0.1', port: 9464 } as const;

/** Where a configuration came from and what was read beside it. */
export interface Source {
  /** Absolute path of the file, or null for the environment alone. */
  file: string | null;
  /** Relative paths start here. */
  folder: string;
  /** The secrets read from files, by the path of the setting that names the file. */
  secretFiles: ReadonlyMap<string, string>;
  /** The certificates read from files, in the same way. */
  caFiles: ReadonlyMap<string, string>;
  proxy: ProxyConfig | null;
}

/** A year and the time to look back on it: certificates of runs without a change, failed runs, sent notifications. */
const DEFAULT_RETENTION_DAYS = 400;

/** The configuration with every default filled in. The document has passed the schema and the cross-checks. */
export function resolveConfig(document: FileConfig, source: Source): Config {
  const defaults = document.defaults ?? {};
  const ledgerPath = ledgerPlace(resolve(source.folder, document.ledger?.path ?? 'data/ledger.db'), source.file);
  const keyFile = document.ledger?.checkpoint_key_file;
  const readerGroup = document.ledger?.reader_group;
  const s3 = resolveS3(document.s3, s3Files(source), source.proxy);
  const places: Places = { folder: source.folder, ledgerPath, s3 };
  return {
    file: source.file,
    ledger: {
      path: ledgerPath,
      retentionDays: document.ledger?.retention_days ?? DEFAULT_RETENTION_DAYS,
      ...(keyFile === undefined ? {} : { checkpointKeyFile: resolve(source.folder, keyFile) }),
      ...(readerGroup === undefined ? {} : { readerGroup }),
    },
    workers: document.workers ?? 64,
    redisUrl: document.redis_url || null,
    http: {
      host: document.http?.host ?? DEFAULT_HTTP.host,
      port: document.http?.port ?? DEFAULT_HTTP.port,
      token: tokenOf(document.http ?? {}),
      readyWhenStalePercent: Number.parseInt(document.http?.ready_when_stale ?? '0', 10),
      publicUrl: document.http?.public_url?.replace(/\/+$/, '') ?? null,
    },
    proxy: source.proxy,
    rates: document.rates ?? null,
    focus: resolveFocus(document.focus),
    s3,
    backup: resolveBackup(document.backup, places),
    exports: (document.exports ?? []).map((given) => resolveExport(given, places)),
    publish: resolvePublish(document.publish, source.caFiles.get('publish.ca_file')),
    workspaces: document.workspaces.map((workspace, index) =>
      resolveWorkspace(workspace, defaults, document.budgets ?? [], {
        secretKey:
          source.secretFiles.get(`workspaces[${index}].secret_key_file`) ??
          defaults.secret_key ??
          source.secretFiles.get('defaults.secret_key_file'),
        ca: source.caFiles.get(`workspaces[${index}].ca_file`) ?? source.caFiles.get('defaults.ca_file') ?? null,
      }),
    ),
    alerts: {
      channels: (document.alerts?.channels ?? []).map((channel, index) =>
        resolveChannel(channel, index, source.caFiles.get(`alerts.channels[${index}].ca_file`)),
      ),
    },
    logLevel: document.log_level ?? 'info',
  };
}

function s3Files({ secretFiles, caFiles }: Source): Parameters<typeof resolveS3>[1] {
  return {
    accessKeyId: secretFiles.get('s3.access_key_id_file'),
    secretAccessKey: secretFiles.get('s3.secret_access_key_file'),
    ca: caFiles.get('s3.ca_file'),
  };
}

/** On loopback the token may be switched off: there only `protect` decides, and a token alone means that it is asked for. */
function tokenOf({ host, token, protect }: NonNullable<FileConfig['http']>): string | null {
  if (!token) return null;
  return protect === false && isLoopbackHost(host ?? DEFAULT_HTTP.host) ? null : token;
}

/** Everything that lies beside the ledger lies beside the file itself, also where its path is a link. */
function ledgerPlace(path: string, configFile: string | null): string {
  try {
    return followSafeLink(path, 'the ledger');
  } catch (error) {
    const { message, hint = 'Write the place of the file itself' } = summarizeError(error);
    throw new ConfigError(configFile, [{ path: 'ledger.path', message, hint }]);
  }
}
