import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../../src/config/load.ts';
import type { Config } from '../../../src/config/types.ts';
import type { Plan } from '../play/plan.ts';
import { BILLING_SECRET } from './billing.ts';
import { monthOf } from './service.ts';

/** What people change in the configuration while the world goes on. */
export const SETTINGS = [
  ...(['plain', 'low_thresholds', 'budgets', 'raised_budgets', 'small_pages'] as const),
  ...(['narrow_routes', 'some_tenants', 'one_workspace', 'renamed', 'reminders'] as const),
] as const;
export type SettingsKind = (typeof SETTINGS)[number];

/** What stands in a configuration file. */
export interface Configured {
  settings: SettingsKind;
  /** As the program reads it. */
  config: Promise<Config>;
  /** Its channels. */
  routes: readonly Route[];
}

/** A channel and what it is told of, by the words of the configuration. */
export interface Route {
  name: string;
  severities?: string[];
  rules?: string[];
  workspaces?: string[];
  tenants?: string[];
  digest_hour?: number;
  follow_ups?: 'at_once';
  remind_after_hours?: number;
}

/** The second channel has another name there. */
export const RENAMED = 'renamed';
const BUDGETS: Partial<Record<SettingsKind, object[]>> = {
  budgets: [{ credits: 1_000 }, { tenant: 'tenant-*', credits: 5, at: [100, 200] }],
  raised_budgets: [{ credits: 20_000_000 }, { tenant: 'tenant-*', credits: 100_000, at: [50, 100] }],
};
/** What is otherwise about the first and the second channel. */
const ROUTES: Partial<Record<SettingsKind, [Partial<Route>, Partial<Route>]>> = {
  narrow_routes: [{ severities: ['critical'] }, { rules: ['jump', 'drop', 'budget', 'sync_failed', 'sync_stale'] }],
  some_tenants: [{}, { tenants: ['tenant-*'] }],
  one_workspace: [{}, { workspaces: ['ws-0'] }],
  renamed: [{}, { name: RENAMED }],
  reminders: [{ remind_after_hours: 4, follow_ups: 'at_once' }, {}],
};

/** The channels that there are with these settings. */
function toRoutes({ receivers }: Plan, settings: SettingsKind): Route[] {
  return receivers.map(({ name, digest }, index) => ({
    ...{ name, ...(digest ? { digest_hour: 8 } : {}) },
    ...ROUTES[settings]?.[index],
  }));
}
export const NAMES_FILE = 'names.csv';
/** What a tenant is called where it is billed, by its place among the ids of the world. */
export function refOf(index: number): string {
  return `ref-${index}`;
}
export const LEDGER_FILE = 'ledger.db';

/**
 * Writes the configuration of a machine, of all workspaces or `only` one, and what people call the tenants, and reads it as
 * the program does.
 */
export function configure(
  plan: Plan,
  { folder, settings, only }: { folder: string; settings: SettingsKind; only?: string | undefined },
): Configured {
  const file = join(folder, 'usage-ledger.yml');
  const workspaces = plan.workspaces.filter(({ id }) => only === undefined || id === only);
  // JSON is YAML.
  // A copy sends nothing on.
  const outlet = only === undefined ? plan.outlet : null;
  const configuration = configurationOf({ ...plan, workspaces, outlet }, folder, settings);
  writeFileSync(file, JSON.stringify(configuration), { mode: 0o600 });
  const names = tenantIds(plan).map((id, index) => `"${id}","${settings} ${index}",${refOf(index)}`);
  writeFileSync(join(folder, NAMES_FILE), ['tenant_id,display_name,external_ref', ...names, ''].join('\n'));
  return { settings, config: loadConfig({ file, env: {}, cwd: folder }), routes: toRoutes(plan, settings) };
}

/** All of the world, of each one. */
export function tenantIds({ workspaces }: Plan): string[] {
  return [...new Set(workspaces.flatMap(({ tenants }) => tenants.map(({ id }) => id)))];
}

/** The first month that goes to where it is billed. */
export function billedFrom({ startMs }: Plan): string {
  return monthOf(startMs - 40 * 86_400_000);
}

export function secretOf(workspaceId: string): string {
  return `sk_simulated_${Buffer.from(workspaceId).toString('hex')}`;
}

function configurationOf(plan: Plan, folder: string, settings: SettingsKind): object {
  return {
    ledger: { path: join(folder, LEDGER_FILE) },
    http: { port: 0 },
    log_level: 'info',
    workspaces: plan.workspaces.map(({ id, cron, reconcileCron, perPage, concurrency }) => ({
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
    ...(BUDGETS[settings] === undefined ? {} : { budgets: BUDGETS[settings] }),
    ...(plan.outlet === null ? {} : { outlets: [outletOf(plan)] }),
    alerts: {
      channels: toRoutes(plan, settings).map((route) => {
        return { type: 'webhook', url: `https://${route.name}.example/hook`, ...route };
      }),
    },
  };
}

function outletOf(plan: Plan): object {
  const address = { url: 'https://billing.example/usage', secret: BILLING_SECRET, customer: plan.outlet };
  return { name: 'billing', type: 'webhook', ...address, from_period: billedFrom(plan), events_per_request: 3 };
}
