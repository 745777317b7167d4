import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../../src/config/load.ts';
import type { Config } from '../../../src/config/types.ts';
import type { Plan } from '../play/plan.ts';

/** What people change in the configuration while the world goes on. */
export const SETTINGS = ['plain', 'low_thresholds', 'budgets', 'small_pages'] as const;
export type SettingsKind = (typeof SETTINGS)[number];
export const NAMES_FILE = 'names.csv';

/** Writes the configuration, and what people call the tenants, and reads it as the program does. */
export function configure(plan: Plan, folder: string, settings: SettingsKind): Config {
  const file = join(folder, 'usage-ledger.yml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(configurationOf(plan, folder, settings)), { mode: 0o600 });
  const ids = new Set(plan.workspaces.flatMap(({ tenants }) => tenants.map(({ id }) => id)));
  const names = [...ids].map((id, index) => `"${id}","${settings} ${index}",ref-${index}`);
  writeFileSync(join(folder, NAMES_FILE), ['tenant_id,display_name,external_ref', ...names, ''].join('\n'));
  return loadConfig({ file, env: {}, cwd: folder });
}

export function secretOf(workspaceId: string): string {
  return `sk_simulated_${Buffer.from(workspaceId).toString('hex')}`;
}

function configurationOf({ workspaces, receivers }: Plan, folder: string, settings: SettingsKind): object {
  return {
    ledger: { path: join(folder, 'ledger.db') },
    http: { port: 0 },
    log_level: 'info',
    workspaces: workspaces.map(({ id, cron, reconcileCron, perPage, concurrency }) => ({
      id,
      base_url: 'https://service.example',
      embed_url: 'https://service.example',
      api_key_id: 'ak_simulated',
      secret_key: secretOf(id),
      cron,
      reconcile_cron: reconcileCron,
      per_page: settings === 'small_pages' ? 2 : perPage,
      concurrency,
    })),
    ...(settings === 'low_thresholds' ? { defaults: { alerts: { ratio: 1.1, min_credits: 1 } } } : {}),
    ...(settings === 'budgets'
      ? { budgets: [{ credits: 1_000 }, { tenant: 'tenant-*', credits: 5, at: [100, 200] }] }
      : {}),
    alerts: {
      channels: receivers.map(({ name, digest }) => ({
        type: 'webhook',
        name,
        url: `https://${name}.example/hook`,
        ...(digest ? { digest_hour: 8 } : {}),
      })),
    },
  };
}
