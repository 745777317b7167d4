import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createWorld, FIRST, SECOND, type World, workspaceSettings } from '../commands/world.ts';
import { SECRET, WebhookReceiver } from '../outlets/webhook-receiver.ts';

export const PERIOD = '2026-01';
const HOUR_MS = 3_600_000;

export const OTHER_CARD = { name: 'dearer', currency: 'EUR', from_period: '2025-12', price_per_credit: '0.02' };
const CARD = { name: 'standard', currency: 'EUR', from_period: '2025-12', price_per_credit: '0.01' };

/** A ledger in which every operation has something to show: names, prices, a manual line, an alert, a silence, a close. */
export async function ledgerOfOperations(): Promise<World> {
  const world = await createWorld(FIRST, SECOND);
  const receiver = await new WebhookReceiver().start();
  const run = async (...argv: string[]) => {
    const { code, err } = await world.run(...argv);
    if (code !== 0) throw new Error(`${argv.join(' ')}: exit code ${code}: ${err}`);
  };
  const file = (name: string, text: string) => writeFileSync(join(world.folder, name), text);
  world.configure({
    workspaces: [FIRST, SECOND].map((workspace) => workspaceSettings(world.sandbox, workspace)),
    outlets: [
      {
        name: 'billing',
        type: 'webhook',
        url: receiver.url,
        allow_private: true,
        secret: SECRET,
        send: 'credits',
      },
    ],
  });
  await run('sync');
  file('cards.yml', JSON.stringify({ rates: [CARD] }));
  await run('rates', 'apply', 'cards.yml', '--yes');
  file('dearer.yml', JSON.stringify({ rates: [OTHER_CARD] }));
  file('names.csv', 'tenant_id,display_name,external_ref\nacme,Acme Ltd,C-1\n');
  await run('tenants', 'import', 'names.csv', '--workspace', 'ws-1');
  await run(
    ...['lines', 'add', '--workspace', 'ws-1', '--tenant', 'acme', '--period', PERIOD, '--amount', '-1.50'],
    ...['--currency', 'EUR', '--reason', 'goodwill', '--by', 'Ada'],
  );
  await run(
    ...['alerts', 'silence', '--tenant', 'trial-*', '--until', '2026-06-01', '--reason', 'trials', '--by', 'Ada'],
  );
  world.clock.nowMs += HOUR_MS;
  world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-02', credits: 60_000, requests: 12 });
  await run('sync');
  await run('outlets', 'start', 'billing', '--from', PERIOD, '--yes');
  await run('close', PERIOD, '--workspace', 'ws-1', '--force', '--by', 'Ada', '--note', 'invoices');
  return world;
}

/** Values for the fields that an operation requires. */
export function inputOf(name: string, world: World): Record<string, unknown> {
  const [alert] = world.query("SELECT alert_id FROM finance_alerts WHERE tenant_id = 'acme' LIMIT 1") as {
    alert_id: string;
  }[];
  const [run] = world.query('SELECT run_id FROM finance_runs ORDER BY started_at LIMIT 1') as { run_id: string }[];
  const inputs: Record<string, Record<string, unknown>> = {
    'rates.check': { rates: [OTHER_CARD] },
    'tenants.show': { tenant_id: 'acme' },
    'outlets.check': { period: PERIOD },
    'outlets.events': { name: 'billing' },
    'runs.show': { run_id: run?.run_id ?? 'none' },
    'periods.plan': { period: PERIOD },
    'statements.list': { period: PERIOD, workspace: 'ws-1' },
    'statements.show': { period: PERIOD, workspace: 'ws-1', tenant_id: 'acme' },
    'views.read': { view: 'usage' },
    'alerts.show': { alert_id: alert?.alert_id ?? 'none' },
    'alerts.acknowledge': { alert_id: alert?.alert_id ?? 'none' },
    'alerts.backtest': { workspace: 'ws-1' },
    'alerts.explain': { alert_id: alert?.alert_id ?? 'none' },
  };
  return inputs[name] ?? {};
}

/** The command line that gives the document of an operation with these values. */
export function commandLineOf(name: string, command: string, input: Readonly<Record<string, unknown>>): string[] {
  if (name === 'rates.check') return ['rates', 'check', 'dearer.yml', '--json'];
  const { workspace, ...others } = input as Record<string, string>;
  const words =
    name === 'statements.show'
      ? ['statement', others.period ?? '', '--for-tenant', others.tenant_id ?? '']
      : [...command.split(' '), ...Object.values(others)];
  const format = command.startsWith('export') ? ['--format', 'json'] : ['--json'];
  return [...words, ...(workspace === undefined ? [] : ['--workspace', workspace]), ...format];
}
