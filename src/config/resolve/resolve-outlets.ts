import { dirname, join, resolve } from 'node:path';
import { isLocalPostgres } from '../rules.ts';
import type { FileConfig } from '../schema/file-schema.ts';
import type { BackupConfig, ExportConfig, FocusConfig, PublishConfig } from '../types.ts';

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

/** The scheduled backup; null when none is configured. */
export function resolveBackup(backup: FileConfig['backup'], folder: string, ledgerPath: string): BackupConfig | null {
  if (backup === undefined) return null;
  return {
    cron: backup.cron ?? '0 2 * * *',
    keep: backup.keep ?? 7,
    folder: backup.folder === undefined ? join(dirname(ledgerPath), 'backups') : resolve(folder, backup.folder),
  };
}

/** Something that has waited for half an hour has missed some attempts. */
const DEFAULT_STALE_MINUTES = 30;

/** The replica; null when none is configured. `ca` is what its `ca_file` holds. */
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
  folder: string,
  ledgerPath: string,
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
    keep: given.keep ?? 30,
  };
}
