import type { FileConfig, FileSettings, FileWorkspace } from '../schema/file-schema.ts';
import { DEFAULT_SIGNING } from '../signing-scheme.ts';
import type { WorkspaceConfig } from '../types.ts';
import { required } from './required.ts';
import { budgetsOf, resolveAlerts } from './resolve-alerts.ts';

/** What a run of a workspace may take. */
export const DEFAULT_LIMITS = {
  runMinutes: 30,
  maxRecords: 20_000_000,
  maxPages: 1_000_000,
  maxPageBytes: 4 * 1024 * 1024,
} as const;

/** A workspace with what `defaults` and the program fill in, and with what was read from files beside it. */
export function resolveWorkspace(
  workspace: FileWorkspace,
  defaults: FileSettings,
  budgets: NonNullable<FileConfig['budgets']>,
  files: { secretKey: string | undefined; ca: string | null },
): WorkspaceConfig {
  const signing = { ...defaults.signing, ...given(workspace.signing) };
  return {
    id: workspace.id,
    name: workspace.name ?? workspace.id,
    baseUrl: withoutSlash(required(workspace.base_url ?? defaults.base_url, 'base_url')),
    embedUrl: withoutSlash(required(workspace.embed_url ?? defaults.embed_url, 'embed_url')),
    apiKeyId: required(workspace.api_key_id ?? defaults.api_key_id, 'api_key_id'),
    secretKey: required(workspace.secret_key ?? files.secretKey, 'secret_key'),
    ca: files.ca,
    signing: {
      payload: signing.payload ?? DEFAULT_SIGNING.payload,
      encoding: signing.encoding ?? DEFAULT_SIGNING.encoding,
      validUntil: signing.valid_until ?? DEFAULT_SIGNING.validUntil,
      validForSeconds: signing.valid_for_seconds ?? DEFAULT_SIGNING.validForSeconds,
    },
    cron: workspace.cron ?? defaults.cron ?? '*/15 * * * *',
    reconcileCron: workspace.reconcile_cron ?? defaults.reconcile_cron ?? '17 3 * * 0',
    lookbackPeriods: workspace.lookback_periods ?? defaults.lookback_periods ?? 2,
    settleHours: workspace.settle_hours ?? defaults.settle_hours ?? 48,
    perPage: workspace.per_page ?? defaults.per_page ?? 100,
    concurrency: workspace.concurrency ?? defaults.concurrency ?? 8,
    requestsPerSecond: workspace.requests_per_second ?? defaults.requests_per_second ?? 50,
    consistency: workspace.consistency ?? defaults.consistency ?? 'auto',
    runMinutes: workspace.run_minutes ?? defaults.run_minutes ?? DEFAULT_LIMITS.runMinutes,
    maxRecords: workspace.max_records ?? defaults.max_records ?? DEFAULT_LIMITS.maxRecords,
    maxPages: workspace.max_pages ?? defaults.max_pages ?? DEFAULT_LIMITS.maxPages,
    maxPageBytes: workspace.max_page_bytes ?? defaults.max_page_bytes ?? DEFAULT_LIMITS.maxPageBytes,
    alerts: { ...resolveAlerts(defaults.alerts, workspace.alerts), ...budgetsOf(workspace.id, budgets) },
  };
}

/** Keys without a value must not hide what `defaults` says. */
function given<Group extends object>(group: Group | undefined): Partial<Group> {
  const entries = Object.entries(group ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Partial<Group>;
}

/** Paths are appended to these addresses, so they end without a slash. */
function withoutSlash(address: string): string {
  return new URL(address).href.replace(/\/+$/, '');
}
