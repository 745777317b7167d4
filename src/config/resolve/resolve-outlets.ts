import { dirname, join, resolve } from 'node:path';
import { isLocalPostgres, parseS3Url, prefixOf } from '../rules.ts';
import type { FileConfig } from '../schema/file-schema.ts';
import type {
  BackupConfig,
  ExportConfig,
  FocusConfig,
  ProxyConfig,
  PublishConfig,
  S3Access,
  S3Place,
} from '../types.ts';
import { required } from './required.ts';

/** What FOCUS files say when the configuration says nothing of them. */
export const DEFAULT_FOCUS: FocusConfig = {
  issuer: null,
  publisher: null,
  serviceName: null,
  serviceCategory: 'Analytics',
  serviceSubcategory: 'Business Intelligence',
};

/** What FOCUS files say, with the defaults. */
export function resolveFocus(given: FileConfig['focus']): FocusConfig {
  return {
    issuer: given?.issuer ?? null,
    publisher: given?.publisher ?? null,
    serviceName: given?.service_name ?? null,
    serviceCategory: given?.service_category ?? DEFAULT_FOCUS.serviceCategory,
    serviceSubcategory: given?.service_subcategory ?? DEFAULT_FOCUS.serviceSubcategory,
  };
}

/** Where relative paths start, the ledger, and the store of objects. */
export interface Places {
  folder: string;
  ledgerPath: string;
  s3: S3Access | null;
}

/** What files hold that the settings name. */
interface S3Files {
  accessKeyId: string | undefined;
  secretAccessKey: string | undefined;
  ca: string | undefined;
}

/** The store of objects; null when none is configured. */
export function resolveS3(given: FileConfig['s3'], files: S3Files, proxy: ProxyConfig | null): S3Access | null {
  if (given === undefined) return null;
  return {
    endpoint: given.endpoint?.replace(/\/+$/, '') ?? null,
    region: given.region,
    accessKeyId: required(given.access_key_id ?? files.accessKeyId, 'access_key_id'),
    secretAccessKey: required(given.secret_access_key ?? files.secretAccessKey, 'secret_access_key'),
    ca: files.ca ?? null,
    proxy,
  };
}

function resolveTo(to: string | undefined, access: S3Access | null): S3Place | null {
  const place = to === undefined ? null : parseS3Url(to);
  if (place === null) return null;
  return { access: required(access ?? undefined, 's3'), bucket: place.bucket, prefix: prefixOf(place.key) };
}

/** The scheduled backup; null when none is configured. */
export function resolveBackup(backup: FileConfig['backup'], { folder, ledgerPath, s3 }: Places): BackupConfig | null {
  if (backup === undefined) return null;
  return {
    cron: backup.cron ?? '0 2 * * *',
    keep: backup.keep ?? 7,
    folder: backup.folder === undefined ? join(dirname(ledgerPath), 'backups') : resolve(folder, backup.folder),
    to: resolveTo(backup.to, s3),
  };
}

/** Something that has waited for half an hour has missed some attempts. */
const DEFAULT_STALE_MINUTES = 30;

/** The copy in Postgres; null when none is configured. `ca` is what its `ca_file` holds. */
export function resolvePublish(publish: FileConfig['publish'], ca: string | undefined): PublishConfig | null {
  if (publish === undefined) return null;
  return {
    url: publish.url,
    schema: publish.schema ?? 'usage_ledger',
    tls: publish.tls ?? (isLocalPostgres(publish.url) ? 'off' : 'verify'),
    ...(ca === undefined ? {} : { ca }),
    staleMs: (publish.stale_minutes ?? DEFAULT_STALE_MINUTES) * 60_000,
    unreadyWhenStale: publish.unready_when_stale ?? false,
  };
}

/** One scheduled export. */
export function resolveExport(
  given: NonNullable<FileConfig['exports']>[number],
  { folder, ledgerPath, s3 }: Places,
): ExportConfig {
  const view = given.view.replace(/^finance_/, '');
  const afterClose = given.after === 'close';
  return {
    name: given.name,
    view,
    format: given.format ?? 'csv',
    cron: afterClose ? null : (given.cron ?? '0 6 * * *'),
    period: given.period ?? (view === 'focus' ? 'previous' : null),
    workspaceId: given.workspace ?? null,
    folder: given.folder === undefined ? join(dirname(ledgerPath), 'exports') : resolve(folder, given.folder),
    to: resolveTo(given.to, s3),
    keep: given.keep ?? 30,
  };
}
