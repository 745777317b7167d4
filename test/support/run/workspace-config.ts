import { DEFAULT_ALERT_RULES } from '../../../src/config/resolve/resolve-alerts.ts';
import { DEFAULT_LIMITS } from '../../../src/config/resolve/resolve-workspace.ts';
import type { WorkspaceConfig } from '../../../src/config/types.ts';

/** A workspace as the configuration has it, read from `url`. */
export function workspaceConfig(url: string, own: Partial<WorkspaceConfig> & { id: string }): WorkspaceConfig {
  return {
    name: 'Test',
    baseUrl: url,
    embedUrl: url,
    apiKeyId: 'ak_test',
    secretKey: 'sk_test_not_a_secret',
    ca: null,
    signing: {
      payload: '{workspace_id}{valid_until}',
      encoding: 'hex',
      validUntil: 'unix_seconds',
      validForSeconds: 300,
    },
    cron: '*/15 * * * *',
    reconcileCron: '17 3 * * 0',
    lookbackPeriods: 2,
    settleHours: 48,
    perPage: 100,
    concurrency: 4,
    requestsPerSecond: 10_000,
    consistency: 'auto',
    ...DEFAULT_LIMITS,
    alerts: { ...DEFAULT_ALERT_RULES, tenants: [] },
    ...own,
  };
}
