import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { configCases, failure, WORKSPACE } from './config-cases.ts';

const cases = configCases();
const { faultsOf, load, write } = cases;

const ENV = {
  USAGE_API_BASE_URL: 'https://data.example.com',
  USAGE_API_EMBED_URL: 'https://embed.example.com',
  USAGE_API_WORKSPACE_ID: 'ws-env',
  USAGE_API_KEY_ID: 'ak_env',
  USAGE_API_SECRET_KEY: 'sk_env',
};

describe('where the configuration comes from', () => {
  test('a named file wins over everything and must exist', async () => {
    write('usage-ledger.yml', `workspaces:${WORKSPACE}`);
    const error = await failure(() => loadConfig({ file: 'missing.yml', env: ENV, cwd: cases.cwd }));
    expect(error.faults).toMatchObject([{ path: '--config', message: 'names a file that does not exist' }]);
    expect(error.file).toBe(join(cases.cwd, 'missing.yml'));
  });

  test('then usage-ledger.yml here, then USAGE_LEDGER_CONFIG, then the environment alone', async () => {
    const env = { ...ENV, USAGE_LEDGER_CONFIG: 'other.yml' };
    const here = write('usage-ledger.yml', `workspaces:${WORKSPACE}`);
    const other = write('other.yml', `workspaces:${WORKSPACE}`);
    expect((await loadConfig({ env, cwd: cases.cwd })).file).toBe(here);
    rmSync(here);
    expect((await loadConfig({ env, cwd: cases.cwd })).file).toBe(other);
    rmSync(other);
    expect((await failure(() => loadConfig({ env, cwd: cases.cwd }))).faults[0]?.path).toBe('USAGE_LEDGER_CONFIG');
    expect((await loadConfig({ env: ENV, cwd: cases.cwd })).file).toBeNull();
  });

  test('the environment alone gives one workspace, the ledger and Redis, without reading values for variables', async () => {
    const env = { ...ENV, USAGE_API_SECRET_KEY: `sk_\${X}`, USAGE_LEDGER_PATH: 'l.db', REDIS_URL: 'redis://127.0.0.1' };
    const config = await loadConfig({ env, cwd: cases.cwd });
    expect(config.ledger.path).toBe(join(cases.cwd, 'l.db'));
    expect(config.redisUrl).toBe('redis://127.0.0.1');
    expect(config.workspaces).toMatchObject([
      { id: 'ws-env', name: 'ws-env', keys: [{ apiKeyId: 'ak_env', secretKey: `sk_\${X}` }] },
    ]);
  });

  test('mistakes in the environment are named by their variables', async () => {
    const env = { USAGE_API_WORKSPACE_ID: 'ws', USAGE_API_BASE_URL: 'http://example.com', REDIS_URL: 'nonsense' };
    const { faults } = await failure(() => loadConfig({ env, cwd: cases.cwd }));
    expect(faults.map((fault) => fault.path).sort()).toEqual([
      'REDIS_URL',
      'USAGE_API_BASE_URL',
      'USAGE_API_EMBED_URL',
      'USAGE_API_KEY_ID',
      'USAGE_API_SECRET_KEY',
    ]);
  });

  test('nothing at all leads to init', async () => {
    const error = await failure(() => loadConfig({ env: { USAGE_LEDGER_PATH: 'x.db' }, cwd: cases.cwd }));
    expect(error.faults[0]?.hint).toContain('usage-ledger init');
  });

  test('.env beside the file is read and does not override the environment', async () => {
    mkdirSync(join(cases.cwd, 'etc'));
    write('.env', 'ID=from-cases.cwd\n');
    write('etc/.env', 'ID=from-file\nNAME="from file"\n');
    const text = `workspaces:${WORKSPACE.replace('ws-1', `\${ID}`)}    name: \${NAME}\n`;
    const file = write('etc/c.yml', text);
    expect((await loadConfig({ file, env: {}, cwd: cases.cwd })).workspaces[0]).toMatchObject({
      id: 'from-file',
      name: 'from file',
    });
    expect((await loadConfig({ file, env: { ID: 'from-env' }, cwd: cases.cwd })).workspaces[0]?.id).toBe('from-env');
  });

  test('a mark of the byte order before .env, the configuration and a secret loses nothing', async () => {
    write('.env', '\uFEFFID=ws-env\n');
    write('key', '\uFEFFsk_file');
    write(
      'usage-ledger.yml',
      `\uFEFFworkspaces:${WORKSPACE.replace('ws-1', `\${ID}`).replace('secret_key: sk_one', 'secret_key_file: key')}`,
    );
    expect((await loadConfig({ env: {}, cwd: cases.cwd })).workspaces[0]).toMatchObject({
      id: 'ws-env',
      keys: [{ secretKey: 'sk_file' }],
    });
  });

  test('a # that would cut a value of .env is a mistake; one after a blank, or in quotes, is none', async () => {
    write(
      '.env',
      'ID=ws-1\nKEY=sk_a#b\nexport URL = https://x.example/#y\nOTHER=a # comment\nQUOTED="a#b"\nEMPTY=#c\n',
    );
    write('usage-ledger.yml', `workspaces:${WORKSPACE}`);
    expect((await failure(() => loadConfig({ env: {}, cwd: cases.cwd }))).faults).toEqual(
      ['KEY', 'URL'].map((name) => ({
        path: `.env: ${name}`,
        message: 'has a # in a value without quotes, where it would begin a comment',
        hint: `Write ${name}="..." if the # belongs to the value, or put a blank before it`,
      })),
    );
  });

  test('a folder called .env is no file of variables', async () => {
    mkdirSync(join(cases.cwd, '.env'));
    expect((await loadConfig({ env: ENV, cwd: cases.cwd })).workspaces[0]?.id).toBe('ws-env');
  });

  test('.env of the working folder serves the environment alone', async () => {
    write(
      '.env',
      Object.entries(ENV)
        .map(([name, value]) => `${name}=${value}`)
        .join('\n'),
    );
    expect((await loadConfig({ env: {}, cwd: cases.cwd })).workspaces[0]?.keys[0]?.secretKey).toBe('sk_env');
  });
});

describe('what a file means', () => {
  test('everything left out has the documented default', async () => {
    expect(await load(`workspaces:${WORKSPACE}`)).toEqual({
      file: join(cases.cwd, 'case.yml'),
      ledger: { path: join(cases.cwd, 'data/ledger.db'), retentionDays: 400 },
      redisUrl: null,
      timezone: 'UTC',
      proxy: null,
      workers: 64,
      http: {
        host: '127.0.0.1',
        port: 9464,
        token: null,
        tokens: [],
        tokenFile: join(cases.cwd, 'data/ledger.db.token'),
        metrics: 'token',
        readyWhenStalePercent: 0,
        publicUrl: null,
        oidc: null,
        proxySignIn: null,
      },
      s3: null,
      backup: null,
      publish: null,
      outlets: [],
      heartbeats: [],
      exports: [],
      rates: null,
      costs: null,
      close: { maxChange: null },
      statement: { number: null, letterhead: null },
      focus: {
        issuer: null,
        publisher: null,
        serviceName: null,
        serviceCategory: 'Analytics',
        serviceSubcategory: 'Business Intelligence',
      },
      workspaces: [
        {
          id: 'ws-1',
          name: 'ws-1',
          baseUrl: 'https://data.example.com',
          embedUrl: 'https://embed.example.com',
          keys: [{ apiKeyId: 'ak_1', secretKey: 'sk_one' }],
          ca: null,
          signing: {
            payload: '{workspace_id}{valid_until}',
            encoding: 'hex',
            validUntil: 'unix_seconds',
            validForSeconds: 300,
          },
          timezone: 'UTC',
          cron: '*/15 * * * *',
          reconcileCron: '17 3 * * 0',
          lookbackPeriods: 2,
          settleHours: 48,
          perPage: 100,
          concurrency: 8,
          requestsPerSecond: 50,
          consistency: 'auto',
          runMinutes: 30,
          maxRecords: 20_000_000,
          maxPages: 1_000_000,
          maxPageBytes: 4_194_304,
          suspiciousShrink: 0.5,
          alerts: {
            ratio: 1.5,
            minCredits: 1000,
            baseline: 'previous',
            minAmount: 0,
            criticalShare: 0.005,
            criticalAmount: 0,
            paceMinFraction: 0.1,
            tenants: [],
          },
        },
      ],
      alerts: { channels: [] },
      logLevel: 'info',
    });
  });

  test('defaults reach every workspace, which overrides them one by one and group by key', async () => {
    const config = await load(`
defaults:
  per_page: 20
  concurrency: 3
  cron: "0 * * * *"
  reconcile_cron: "0 5 * * *"
  signing: { encoding: base64, valid_for_seconds: 60 }
  alerts: { ratio: 3, min_credits: 5 }
workspaces:${WORKSPACE}    per_page: 30
    signing:
      encoding: base64url
      valid_for_seconds:
    alerts: { ratio: 2 }
${WORKSPACE.replace('ws-1', 'ws-2')}`);
    expect(config.workspaces[0]).toMatchObject({
      perPage: 30,
      concurrency: 3,
      cron: '0 * * * *',
      reconcileCron: '0 5 * * *',
      signing: { encoding: 'base64url', validForSeconds: 60, validUntil: 'unix_seconds' },
      alerts: { ratio: 2, minCredits: 5 },
    });
    expect(config.workspaces[1]).toMatchObject({ perPage: 20, alerts: { ratio: 3, minCredits: 5 } });
  });

  test('a time zone applies to everything below it that names no other', async () => {
    const { timezone, workspaces, backup, exports, alerts } = await load(`
timezone: Europe/Berlin
defaults: { timezone: America/New_York }
backup: {}
exports: [{ name: usage, view: usage }]
alerts: { channels: [{ type: log }, { type: log, timezone: Asia/Kathmandu }] }
workspaces:${WORKSPACE}
  - { id: ws-2, timezone: Australia/Lord_Howe, base_url: https://a.example, embed_url: https://b.example, api_key_id: ak, secret_key: sk }
`);
    expect([timezone, backup?.timezone, exports[0]?.timezone]).toEqual(Array(3).fill('Europe/Berlin'));
    expect(workspaces.map((workspace) => workspace.timezone)).toEqual(['America/New_York', 'Australia/Lord_Howe']);
    expect(alerts.channels.map((channel) => channel.timezone)).toEqual(['Europe/Berlin', 'Asia/Kathmandu']);
  });

  test('addresses and the secret can stand under defaults, and a workspace of its own secret wins', async () => {
    write('key.txt', 'sk_from_file\r\n');
    const config = await load(`
defaults:
  base_url: https://data.example.com
  embed_url: https://embed.example.com
  api_key_id: ak
  secret_key: sk_shared
workspaces:
  - id: a
  - id: b
    secret_key_file: key.txt
`);
    expect(config.workspaces.map(({ keys }) => keys[0]?.secretKey)).toEqual(['sk_shared', 'sk_from_file']);
  });

  test('alert rules come from defaults, workspace and tenant pattern, each filling in what it says', async () => {
    const config = await load(`
defaults:
  alerts: { ratio: 3, tenants: [{ match: "trial-*", min_credits: 9 }] }
workspaces:${WORKSPACE}    alerts:
      baseline: same_month_last_year
      tenants: [{ match: acme, ratio: 2, baseline: previous, pace_min_fraction: 0.2 }]
`);
    const own = {
      ratio: 3,
      minCredits: 1000,
      baseline: 'same_month_last_year' as const,
      minAmount: 0,
      criticalShare: 0.005,
      criticalAmount: 0,
      paceMinFraction: 0.1,
    };
    const acme = { ratio: 2, baseline: 'previous' as const, paceMinFraction: 0.2 };
    expect(config.workspaces[0]?.alerts).toEqual({
      ...own,
      tenants: [
        { match: 'acme', rules: { ...own, ...acme }, own: acme },
        { match: 'trial-*', rules: { ...own, minCredits: 9 }, own: { minCredits: 9 } },
      ],
    });
  });

  test('variables count as numbers where numbers are wanted', async () => {
    const text = `
http: { port: "\${PORT}" }
workspaces:${WORKSPACE}    alerts: { ratio: "\${RATIO}", min_credits: "\${FLOOR:-10}" }
`;
    const config = await load(text, { PORT: '8080', RATIO: '1.25' });
    expect(config.http.port).toBe(8080);
    expect(config.workspaces[0]?.alerts).toMatchObject({ ratio: 1.25, minCredits: 10 });
    expect(await faultsOf(text, { PORT: 'eighty', RATIO: '0.5' })).toEqual([
      'http.port: must be a number, not text',
      'workspaces[0].alerts.ratio: must be at least 1',
    ]);
  });

  test('groups and settings without a value count as not given', async () => {
    const config = await load(
      `ledger:\ndefaults:\nhttp:\n  token:\nredis_url: \${REDIS_URL:-}\nworkspaces:${WORKSPACE}`,
    );
    expect(config).toMatchObject({ redisUrl: null, http: { host: '127.0.0.1', token: null, publicUrl: null } });
  });

  test('channels without a name are called after their type and place', async () => {
    const config = await load(`
workspaces:${WORKSPACE}
alerts:
  channels:
    - type: log
    - type: webhook
      url: http://127.0.0.1:9/hook
      secret: whsec_abc
      allow_private: true
    - { type: webhook, name: pager, url: "https://example.com/hook?token=abc", secret: "", timeout_seconds: 3 }
    - { type: webhook, url: https://example.com/hook, secrets: [new, old] }
    - { type: slack, url: https://hooks.slack.com/services/T/B/X }
    - { type: email, host: smtp.example.com, from: Ledger <a@example.com>, to: [b@example.com, c@example.com] }
    - { type: email, host: 10.0.0.5, port: 465, user: u, password: p, from: a@b.c, to: [d@e.f], allow_private: "true" }
`);
    expect(config.alerts.channels).toEqual([
      { type: 'log', name: 'log-1', timezone: 'UTC' },
      {
        type: 'webhook',
        name: 'webhook-2',
        timezone: 'UTC',
        url: 'http://127.0.0.1:9/hook',
        secrets: ['whsec_abc'],
        allowPrivate: true,
        timeoutMs: 10_000,
      },
      {
        type: 'webhook',
        name: 'pager',
        timezone: 'UTC',
        url: 'https://example.com/hook?token=abc',
        secrets: [],
        allowPrivate: false,
        timeoutMs: 3000,
      },
      expect.objectContaining({ name: 'webhook-4', timezone: 'UTC', secrets: ['new', 'old'] }),
      {
        type: 'slack',
        name: 'slack-5',
        timezone: 'UTC',
        url: 'https://hooks.slack.com/services/T/B/X',
        allowPrivate: false,
        timeoutMs: 10_000,
      },
      {
        type: 'email',
        name: 'email-6',
        timezone: 'UTC',
        host: 'smtp.example.com',
        port: 587,
        tls: 'starttls',
        allowInsecure: false,
        allowPrivate: false,
        timeoutMs: 10_000,
        login: null,
        from: 'Ledger <a@example.com>',
        to: ['b@example.com', 'c@example.com'],
      },
      expect.objectContaining({
        port: 465,
        tls: 'implicit',
        allowPrivate: true,
        login: { user: 'u', password: 'p' },
      }),
    ]);
  });
});
