import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { readRemedies, settingRemedy } from '../../src/config/reading/faults.ts';
import { sampleConfig, sampleEnv, writeSamples } from '../../src/config/samples.ts';
import { AppError } from '../../src/core/errors.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sample-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function writeSample(into: string) {
  const user = { name: 'ada', uid: 1000, gid: 1000 };
  const installation = { folder: into, packageFolder: '/opt/usage-ledger', nodePath: '/usr/bin/node', user };
  return writeSamples({ ...installation, systemd: false, compose: false });
}

/** The example with a value for every empty secret or identifier. */
function filledIn(text: string): string {
  return text.replace(/^(USAGE_API_\w+)=$/gm, '$1=some-value');
}

test('the sample with its variables filled in loads without a fault', async () => {
  writeSample(folder);
  writeFileSync(join(folder, '.env'), filledIn(sampleEnv()));
  const config = await loadConfig({ env: {}, cwd: folder });
  expect(config.redisUrl).toBeNull();
  expect(config.workspaces).toMatchObject([
    { id: 'some-value', name: 'Production', keys: [{ secretKey: 'some-value' }] },
  ]);
});

test('the sample shows the defaults as they are', async () => {
  writeFileSync(join(folder, 'usage-ledger.yml'), sampleConfig());
  writeFileSync(join(folder, '.env'), filledIn(sampleEnv()));
  const shown = await loadConfig({ env: {}, cwd: folder });
  const bare = sampleConfig()
    .split('\n')
    .filter((line) => /^workspaces|^ {2}- id|^ {4}(name|base_url|embed_url|api_key_id|secret_key):/.test(line))
    .join('\n');
  writeFileSync(join(folder, 'usage-ledger.yml'), bare);
  expect({ ...(await loadConfig({ env: {}, cwd: folder })), alerts: shown.alerts }).toEqual(shown);
});

test('what the sample shows in comments is valid as well', async () => {
  const open = sampleConfig()
    .replace(
      /^( +)# (- type|tokens?:|oidc:|proxy_sign_in:|baseline:|min_amount:|critical_share:|critical_amount:|pace_min_fraction:|tenants:|workspaces:|severities:|rules:|not:|digest_hour:|follow_ups:|remind_after_hours:|remind_weekdays:|remind_hours:|timezone:)/gm,
      '$1$2',
    )
    .replace(/^( +)# {3}(?!#)/gm, '$1  ');
  writeFileSync(join(folder, 'usage-ledger.yml'), open);
  const env = {
    ...parseEnv(filledIn(sampleEnv())),
    USAGE_LEDGER_HTTP_TOKEN: 'token-1',
    USAGE_LEDGER_DASHBOARD_TOKEN: 'dashboard-token-of-24-characters',
    OIDC_CLIENT_SECRET: 'oidc-1',
    ALERT_WEBHOOK_SECRET: 'hook-1',
    ALERT_SLACK_URL: 'https://hooks.slack.com/services/T/B/X',
    ALERT_TEAMS_URL: 'https://example.com/workflows/1?sig=2',
    ALERT_PAGERDUTY_KEY: 'key-1',
    ALERT_SMTP_USER: 'alerts',
    ALERT_SMTP_PASSWORD: 'pw',
    HEARTBEAT_URL: 'https://hc.example.com/ping/1234-5678',
  };
  const config = await loadConfig({ env, cwd: folder });
  expect(config.http.token).toBe('token-1');
  const dashboard = { name: 'dashboard', role: 'read', mcp: 'read', token: 'dashboard-token-of-24-characters' };
  expect(config.http.tokens).toEqual([dashboard]);
  expect(config.workspaces[0]?.alerts).toMatchObject({
    baseline: 'same_month_last_year',
    tenants: [{ match: 'trial-*' }],
  });
  expect(config.alerts.channels[1]).toMatchObject({ type: 'webhook', name: 'on-call', secrets: ['hook-1'] });
  expect(config.alerts.channels[0]?.route).toEqual({
    severities: ['critical'],
    rules: ['jump', 'budget'],
    workspaces: ['ws-123', 'eu-*'],
    tenants: ['acme'],
    not: { tenants: ['test-*'] },
    digestHour: 7,
    followUps: 'at_once',
    remindWeekdays: 'mon-fri',
    remindHours: '08:00-18:00',
    remindAfterMs: 14_400_000,
  });
  // It closes what it has opened.
  expect(config.alerts.channels[4]).toMatchObject({
    ...{ type: 'pagerduty', routingKey: 'key-1', url: 'https://events.pagerduty.com/v2/enqueue' },
    route: { severities: ['warning', 'critical'], followUps: 'at_once' },
  });
  expect(config.heartbeats).toEqual([
    {
      name: 'heartbeat-7',
      url: 'https://hc.example.com/ping/1234-5678',
      allowPrivate: false,
      timeoutMs: 10_000,
      everyMs: 300_000,
    },
  ]);
  const names = ['log-1', 'on-call', 'slack-3', 'teams-4', 'pagerduty-5', 'email-6'];
  expect(config.alerts.channels.map(({ name }) => name)).toEqual(names);
});

test('every setting is in the sample and has a remedy of its own', () => {
  const names = new Set([...readRemedies().keys()].map((path) => path.split('.').at(-1)?.replace('[]', '') ?? path));
  expect(names.size).toBeGreaterThan(25);
  for (const name of names) expect(sampleConfig(), name).toMatch(new RegExp(`^[ #-]*${name}:`, 'm'));
  for (const [path, remedy] of readRemedies()) expect(remedy, path).toMatch(/^(Give|Write|Choose|List|Set|Use) /);
});

test('a remedy is that of its place, whatever the setting is called elsewhere', () => {
  expect(settingRemedy('budgets[0].credits')).toContain('how many credits the tenant may use');
  expect(settingRemedy('rates[2].package.credits')).toContain('the credits in a package');
  expect(settingRemedy('alerts.channels[1].host')).toContain('mail server');
  expect(settingRemedy('http.host')).toContain('address to listen on');
  expect(settingRemedy('budgets[0].at[1]')).toContain('percents of the budget');
});

test('every variable of the sample is in the example of .env', () => {
  for (const [, name] of sampleConfig().matchAll(/\$\{([A-Z_]+)(?::-)?\}/g)) {
    if (name !== 'NAME') expect(sampleEnv()).toContain(`${name}=`);
  }
});

test('existing files are kept as they are and said to be kept', () => {
  writeFileSync(join(folder, 'usage-ledger.yml'), 'mine');
  expect(writeSample(folder)).toEqual({
    written: [join(folder, '.env.example'), join(folder, 'ecosystem.config.cjs')],
    kept: [join(folder, 'usage-ledger.yml')],
  });
  expect(readFileSync(join(folder, 'usage-ledger.yml'), 'utf8')).toBe('mine');
  expect(writeSample(folder).written).toEqual([]);
});

test('the configuration can be read by its owner alone', () => {
  writeSample(folder);
  expect(statSync(join(folder, 'usage-ledger.yml')).mode & 0o077).toBe(0);
});

test('a folder that is not there is an error with a hint', () => {
  expect(() => writeSample(join(folder, 'missing'))).toThrow(AppError);
});
