import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createMetrics } from '../../../src/daemon/http/metrics.ts';
import type { HealthProbe } from '../../../src/daemon/http/probe.ts';
import { MEASURED, playMetricEvents } from './measured.ts';

const RULES = fileURLToPath(new URL('../../../deploy/prometheus-rules.yml', import.meta.url));
const DASHBOARD = fileURLToPath(new URL('../../../deploy/grafana-dashboard.json', import.meta.url));
const OPERATE = fileURLToPath(new URL('../../../docs/operate.md', import.meta.url));
const run = promisify(execFile);

const probe: HealthProbe = {
  redisUp: () => true,
  redisFault: () => null,
  writeFault: () => null,
  freshness: () => [{ workspaceId: 'ws-1', lastCompleteRunAtMs: 1, staleAfterMs: 1, stale: false }],
  maxToleratedStale: 0,
  waitingSince: () => null,
  queueCounts: async () => ({ sync: { waiting: 0, active: 0, delayed: 0, completed: 0, failed: 0 } }),
  openAlerts: () => [{ severity: 'critical', count: 1 }],
  outbox: () => ({ pending: 0, held: 0, dead: 0 }),
  runs: () => [{ workspaceId: 'ws-1', status: 'applied', count: 1, seconds: 1, pages: 1, records: 1 }],
  onRun: (listener) => listener(1),
  publishing: () => ({ position: 7, lagLinks: 0, lagSeconds: 0, fault: null, stale: false, unready: false }),
};
const registry = createMetrics(probe, MEASURED, '1.2.3');
playMetricEvents(MEASURED.metricEvents);
/** By name, the labels that a sample of it has. */
const served = new Map(
  (await registry.getMetricsAsJSON()).map(({ name, values }) => [
    name,
    new Set((values as { labels: object }[]).flatMap(({ labels }) => Object.keys(labels))),
  ]),
);

/** Labels that Prometheus itself adds. */
const TARGET_LABELS = ['job', 'instance'];

function rules(): { alert: string; expr: string; annotations: Record<string, string> }[] {
  return parse(readFileSync(RULES, 'utf8')).groups.flatMap(({ rules: own }: { rules: unknown[] }) => own);
}

function dashboardQueries(): string[] {
  const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8'));
  return panels.flatMap(({ targets }: { targets: { expr: string }[] }) => targets.map(({ expr }) => expr));
}

describe.each([
  ['the rules', rules().map(({ expr }) => expr)],
  ['the dashboard', dashboardQueries()],
])('%s', (_, queries) => {
  it('uses only metrics and labels that the daemon serves', () => {
    expect(queries.length).toBeGreaterThan(5);
    for (const query of queries) {
      const names = [...query.matchAll(/\b(usage_ledger_\w+|nodejs_\w+|process_\w+)(?:\{([^}]*)\})?/g)];
      for (const [, name = '', selector = ''] of names) {
        expect([...served.keys()], query).toContain(name);
        const labels = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map((match) => match[1] ?? '');
        const known = [...(served.get(name) ?? []), ...TARGET_LABELS];
        for (const label of labels) expect(known, `${label} of ${query}`).toContain(label);
      }
      for (const [, by = ''] of query.matchAll(/\bby \(([^)]*)\)/g)) {
        const known = names.flatMap(([, name = '']) => [...(served.get(name) ?? [])]);
        for (const label of by.split(',')) expect(known, query).toContain(label.trim());
      }
    }
  });
});

describe('the rules for Prometheus', () => {
  it('are accepted by promtool', async () => {
    const { stdout } = await run('promtool', ['check', 'rules', RULES]);
    expect(stdout).toContain(`SUCCESS: ${rules().length} rules found`);
  });

  it('are all explained in the manual by name', () => {
    const manual = readFileSync(OPERATE, 'utf8');
    for (const { alert } of rules()) expect(manual).toContain(`\`${alert}\``);
  });

  it('fire when a workspace is stale and when notifications are given up, and not before', async () => {
    const file = fileURLToPath(new URL('./rules-test.yml', import.meta.url));
    const { stdout } = await run('promtool', ['test', 'rules', file]);
    expect(stdout).toContain('SUCCESS');
  });
});

it('the log lines in the manual are the ones that the program writes', () => {
  const manual = readFileSync(OPERATE, 'utf8');
  const table = manual.slice(manual.indexOf('| `msg` |'), manual.indexOf('Repeated lines'));
  const cells = table
    .split('\n')
    .slice(2)
    .map((line) => line.split('|')[1] ?? '');
  const messages = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, message = '']) => message));
  expect(messages.length).toBeGreaterThan(10);
  const folder = fileURLToPath(new URL('../../../src/', import.meta.url));
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(`${folder}${file}`, 'utf8'))
    .join('\n');
  for (const message of messages) expect(sources, message).toMatch(new RegExp(`['"]${message}['"]`));
});

it('the manual lists every metric of usage-ledger', () => {
  const manual = readFileSync(OPERATE, 'utf8');
  for (const name of served.keys()) if (name.startsWith('usage_ledger_')) expect(manual).toContain(`\`${name}\``);
});

it('serves the metrics of the Postgres copy once a reload has configured one', async () => {
  let health: ReturnType<HealthProbe['publishing']> = null;
  const reloaded = createMetrics({ ...probe, publishing: () => health }, MEASURED, '1.2.3');
  const lag = async () => (await reloaded.metrics()).match(/^usage_ledger_publish_lag_links .*$/m)?.[0] ?? null;
  expect(await lag()).toBeNull();
  health = { position: 7, lagLinks: 3, lagSeconds: 0, fault: null, stale: false, unready: false };
  expect(await lag()).toBe('usage_ledger_publish_lag_links 3');
  health = null;
  expect(await lag()).toBeNull();
});
