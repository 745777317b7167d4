import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import type { Config } from '../../src/config/types.ts';
import { ConfigError } from '../../src/core/errors.ts';
import { RULES } from '../../src/core/text/alert-words.ts';

let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'config-'));
});

afterEach(() => {
  rmSync(cwd, { recursive: true, force: true });
});

const WORKSPACE = `
  - id: ws-1
    base_url: https://data.example.com/
    embed_url: https://embed.example.com
    api_key_id: ak_1
    secret_key: sk_one
`;

function write(name: string, text: string): string {
  const file = join(cwd, name);
  writeFileSync(file, text);
  return file;
}

function load(text: string, env: NodeJS.ProcessEnv = {}): Config {
  return loadConfig({ file: write('case.yml', text), env, cwd });
}

function failure(action: () => unknown): ConfigError {
  try {
    action();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('the configuration was accepted');
}

/** The faults of a file as `path: message`. */
function faultsOf(text: string, env: NodeJS.ProcessEnv = {}): string[] {
  return failure(() => load(text, env)).faults.map((fault) => `${fault.path}: ${fault.message}`);
}

const ENV = {
  USAGE_API_BASE_URL: 'https://data.example.com',
  USAGE_API_EMBED_URL: 'https://embed.example.com',
  USAGE_API_WORKSPACE_ID: 'ws-env',
  USAGE_API_KEY_ID: 'ak_env',
  USAGE_API_SECRET_KEY: 'sk_env',
};

describe('where the configuration comes from', () => {
  test('a named file wins over everything and must exist', () => {
    write('usage-ledger.yml', `workspaces:${WORKSPACE}`);
    const error = failure(() => loadConfig({ file: 'missing.yml', env: ENV, cwd }));
    expect(error.faults).toMatchObject([{ path: '--config', message: 'names a file that does not exist' }]);
    expect(error.file).toBe(join(cwd, 'missing.yml'));
  });

  test('then usage-ledger.yml here, then USAGE_LEDGER_CONFIG, then the environment alone', () => {
    const env = { ...ENV, USAGE_LEDGER_CONFIG: 'other.yml' };
    const here = write('usage-ledger.yml', `workspaces:${WORKSPACE}`);
    const other = write('other.yml', `workspaces:${WORKSPACE}`);
    expect(loadConfig({ env, cwd }).file).toBe(here);
    rmSync(here);
    expect(loadConfig({ env, cwd }).file).toBe(other);
    rmSync(other);
    expect(failure(() => loadConfig({ env, cwd })).faults[0]?.path).toBe('USAGE_LEDGER_CONFIG');
    expect(loadConfig({ env: ENV, cwd }).file).toBeNull();
  });

  test('the environment alone gives one workspace, the ledger and Redis, without reading values for variables', () => {
    const env = { ...ENV, USAGE_API_SECRET_KEY: `sk_\${X}`, USAGE_LEDGER_PATH: 'l.db', REDIS_URL: 'redis://127.0.0.1' };
    const config = loadConfig({ env, cwd });
    expect(config.ledger.path).toBe(join(cwd, 'l.db'));
    expect(config.redisUrl).toBe('redis://127.0.0.1');
    expect(config.workspaces).toMatchObject([
      { id: 'ws-env', name: 'ws-env', apiKeyId: 'ak_env', secretKey: `sk_\${X}` },
    ]);
  });

  test('mistakes in the environment are named by their variables', () => {
    const env = { USAGE_API_WORKSPACE_ID: 'ws', USAGE_API_BASE_URL: 'http://example.com', REDIS_URL: 'nonsense' };
    expect(
      failure(() => loadConfig({ env, cwd }))
        .faults.map((fault) => fault.path)
        .sort(),
    ).toEqual(['REDIS_URL', 'USAGE_API_BASE_URL', 'USAGE_API_EMBED_URL', 'USAGE_API_KEY_ID', 'USAGE_API_SECRET_KEY']);
  });

  test('nothing at all leads to init', () => {
    const error = failure(() => loadConfig({ env: { USAGE_LEDGER_PATH: 'x.db' }, cwd }));
    expect(error.faults[0]?.hint).toContain('usage-ledger init');
  });

  test('.env beside the file is read and does not override the environment', () => {
    mkdirSync(join(cwd, 'etc'));
    write('.env', 'ID=from-cwd\n');
    write('etc/.env', 'ID=from-file\nNAME="from file"\n');
    const text = `workspaces:${WORKSPACE.replace('ws-1', `\${ID}`)}    name: \${NAME}\n`;
    const file = write('etc/c.yml', text);
    expect(loadConfig({ file, env: {}, cwd }).workspaces[0]).toMatchObject({ id: 'from-file', name: 'from file' });
    expect(loadConfig({ file, env: { ID: 'from-env' }, cwd }).workspaces[0]?.id).toBe('from-env');
  });

  test('a folder called .env is no file of variables', () => {
    mkdirSync(join(cwd, '.env'));
    expect(loadConfig({ env: ENV, cwd }).workspaces[0]?.id).toBe('ws-env');
  });

  test('.env of the working folder serves the environment alone', () => {
    write(
      '.env',
      Object.entries(ENV)
        .map(([name, value]) => `${name}=${value}`)
        .join('\n'),
    );
    expect(loadConfig({ env: {}, cwd }).workspaces[0]?.secretKey).toBe('sk_env');
  });
});

describe('what a file means', () => {
  test('everything left out has the documented default', () => {
    expect(load(`workspaces:${WORKSPACE}`)).toEqual({
      file: join(cwd, 'case.yml'),
      ledger: { path: join(cwd, 'data/ledger.db'), retentionDays: 400 },
      redisUrl: null,
      workers: 64,
      http: { host: '127.0.0.1', port: 9464, token: null },
      backup: null,
      rates: null,
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
          apiKeyId: 'ak_1',
          secretKey: 'sk_one',
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
          concurrency: 8,
          requestsPerSecond: 50,
          consistency: 'auto',
          runMinutes: 30,
          maxRecords: 20_000_000,
          maxPages: 1_000_000,
          maxPageBytes: 4_194_304,
          alerts: {
            ratio: 1.5,
            minCredits: 1000,
            minIncrease: null,
            perDay: false,
            baseline: 'previous',
            paceMinFraction: 0.1,
            tenants: [],
          },
        },
      ],
      alerts: { channels: [] },
      logLevel: 'info',
    });
  });

  test('defaults reach every workspace, which overrides them one by one and group by key', () => {
    const config = load(`
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

  test('addresses and the secret can stand under defaults, and a workspace of its own secret wins', () => {
    write('key.txt', 'sk_from_file\r\n');
    const config = load(`
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
    expect(config.workspaces.map((workspace) => workspace.secretKey)).toEqual(['sk_shared', 'sk_from_file']);
  });

  test('alert rules come from defaults, workspace and tenant pattern, each filling in what it says', () => {
    const config = load(`
defaults:
  alerts: { ratio: 3, per_day: true, tenants: [{ match: "trial-*", min_credits: 9 }] }
workspaces:${WORKSPACE}    alerts:
      baseline: { median_of: 3 }
      tenants: [{ match: acme, ratio: 2, baseline: previous, pace_min_fraction: 0.2 }]
`);
    const own = {
      ratio: 3,
      minCredits: 1000,
      minIncrease: null,
      perDay: true,
      baseline: { medianOf: 3 },
      paceMinFraction: 0.1,
    };
    expect(config.workspaces[0]?.alerts).toEqual({
      ...own,
      tenants: [
        { match: 'acme', rules: { ...own, ratio: 2, baseline: 'previous', paceMinFraction: 0.2 } },
        { match: 'trial-*', rules: { ...own, minCredits: 9 } },
      ],
    });
  });

  test('variables count as numbers where numbers are wanted', () => {
    const text = `
http: { port: "\${PORT}" }
workspaces:${WORKSPACE}    alerts: { ratio: "\${RATIO}", min_credits: "\${FLOOR:-10}" }
`;
    const config = load(text, { PORT: '8080', RATIO: '1.25' });
    expect(config.http.port).toBe(8080);
    expect(config.workspaces[0]?.alerts).toMatchObject({ ratio: 1.25, minCredits: 10 });
    expect(faultsOf(text, { PORT: 'eighty', RATIO: '0.5' })).toEqual([
      'http.port: must be a number, not text',
      'workspaces[0].alerts.ratio: must be at least 1',
    ]);
  });

  test('groups and settings without a value count as not given', () => {
    const config = load(`ledger:\ndefaults:\nhttp:\n  token:\nredis_url: \${REDIS_URL:-}\nworkspaces:${WORKSPACE}`);
    expect(config).toMatchObject({ redisUrl: null, http: { host: '127.0.0.1', token: null } });
  });

  test('channels without a name are called after their type and place', () => {
    const config = load(`
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
      { type: 'log', name: 'log-1' },
      {
        type: 'webhook',
        name: 'webhook-2',
        url: 'http://127.0.0.1:9/hook',
        secrets: ['whsec_abc'],
        allowPrivate: true,
        timeoutMs: 10_000,
      },
      {
        type: 'webhook',
        name: 'pager',
        url: 'https://example.com/hook?token=abc',
        secrets: [],
        allowPrivate: false,
        timeoutMs: 3000,
      },
      expect.objectContaining({ name: 'webhook-4', secrets: ['new', 'old'] }),
      {
        type: 'slack',
        name: 'slack-5',
        url: 'https://hooks.slack.com/services/T/B/X',
        allowPrivate: false,
        timeoutMs: 10_000,
      },
      {
        type: 'email',
        name: 'email-6',
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

describe('mistakes', () => {
  test('five mistakes are reported as five, each with its path and a remedy', () => {
    const error = failure(() =>
      load(`
workspaces:
  - id: ws-1
    base_url: http://data.example.com
    embed_url: https://embed.example.com
    api_key_id: ak_1
    secret_key: \${MISSING_SECRET}
    per_page: 500
    consistancy: twice
  - id: ws-1
    base_url: https://data.example.com
    embed_url: https://embed.example.com
    api_key_id: ak_1
    secret_key: sk_one
`),
    );
    expect(error.faults.map((fault) => fault.path)).toEqual([
      'workspaces[0].base_url',
      'workspaces[0].consistancy',
      'workspaces[0].per_page',
      'workspaces[0].secret_key',
      'workspaces[1].id',
    ]);
    for (const fault of error.faults) {
      expect(fault.hint).not.toBe('');
      expect(error.message).toContain(`${fault.path}: ${fault.message}`);
      expect(error.message).toContain(fault.hint);
    }
    expect(error.message).toContain('5 mistakes');
    expect(error.faults[1]?.hint).toBe('Did you mean consistency?');
  });

  test('a key in the wrong place is told where it belongs', () => {
    const { faults } = failure(() => load(`cron: "0 * * * *"\nwebhooks: 1\nworkspaces:${WORKSPACE}`));
    expect(faults.map((fault) => [fault.path, fault.hint])).toEqual([
      ['cron', 'It belongs elsewhere: defaults.cron'],
      ['webhooks', expect.stringContaining('the settings here are ledger, redis_url')],
    ]);
  });

  test('a misspelt key without a value is a mistake, too', () => {
    expect(faultsOf(`htpp:\n__proto__: {}\nworkspaces:${WORKSPACE}`)).toEqual([
      '__proto__: is not a setting',
      'htpp: is not a setting',
    ]);
  });

  test('a workspace that lacks everything lists all of it', () => {
    expect(faultsOf('workspaces:\n  - name: x\n')).toEqual(
      ['api_key_id', 'base_url', 'embed_url', 'id', 'secret_key'].map((key) => `workspaces[0].${key}: is missing`),
    );
  });

  test.each([
    'workspaces: []\n',
    'ledger: { path: x }\n',
    '',
    '- a\n',
    'text',
    'workspaces: 5\n',
    'workspaces: [5, ~]\n',
  ])('a file without workspaces is refused: %j', (text) => {
    expect(faultsOf(text)).not.toEqual([]);
  });

  test('syntax errors stand at file, line and column', () => {
    expect(faultsOf('workspaces: []\nworkspaces: []\n')).toEqual(['case.yml:2:1: gives a setting a second time']);
  });

  const setting = (line: string) => faultsOf(`workspaces:${WORKSPACE}    ${line}\n`);
  test.each([
    ['per_page: 0', 'per_page: must be at least 1'],
    ['per_page: 101', 'per_page: must be at most 100'],
    ['per_page: 1.5', 'per_page: must be a whole number, not a fraction'],
    ['concurrency: 0', 'concurrency: must be at least 1'],
    ['concurrency: 257', 'concurrency: must be at most 256'],
    ['requests_per_second: 0', 'requests_per_second: must be at least 1'],
    ['requests_per_second: 10001', 'requests_per_second: must be at most 10000'],
    ['lookback_periods: -1', 'lookback_periods: must be at least 0'],
    ['lookback_periods: 121', 'lookback_periods: must be at most 120'],
    ['alerts: { ratio: 0.99 }', 'alerts.ratio: must be at least 1'],
    ['alerts: { ratio: .inf }', 'alerts.ratio: must be a number, not an infinite one'],
    ['alerts: { min_credits: -1 }', 'alerts.min_credits: must be at least 0'],
    ['alerts: { min_credits: 1.5 }', 'alerts.min_credits: must be a whole number, not a fraction'],
    ['signing: { valid_for_seconds: 0 }', 'signing.valid_for_seconds: must be at least 1'],
    ['signing: { valid_for_seconds: 86401 }', 'signing.valid_for_seconds: must be at most 86400'],
    ['signing: { payload: "x" }', 'signing.payload: does not contain {valid_until}'],
    ['signing: { encoding: HEX }', 'signing.encoding: must be one of hex, base64, base64url'],
    ['signing: hex', 'signing: must be a group of settings, not text'],
    ['cron: "* * * * * *"', 'cron: is not a cron expression of five fields'],
    ['reconcile_cron: "61 * * * *"', 'reconcile_cron: is not a cron expression that ever comes due'],
    ['consistency: often', 'consistency: must be one of auto, twice, counted'],
    ['name: ""', 'name: must not be empty'],
  ])('%s is refused', (line, fault) => {
    expect(setting(line)).toEqual([`workspaces[0].${fault}`]);
  });

  const top = (line: string) => faultsOf(`${line}\nworkspaces:${WORKSPACE}`);
  test.each([
    ['http: { port: 65536 }', 'http.port: must be at most 65535'],
    ['http: { port: -1 }', 'http.port: must be at least 0'],
    ['http: { host: 0.0.0.0 }', 'http.token: is missing, but http.host can be reached from other machines'],
    [
      'http: { host: 0.0.0.0, token: twenty-three-characters }',
      'http.token: is shorter than 24 characters, but http.host can be reached from other machines',
    ],
    ['redis_url: redis://cache.example:6379', 'redis_url: uses redis:// to another machine, which encrypts nothing'],
    ['http: { host: "::", token: "" }', 'http.token: is missing, but http.host can be reached from other machines'],
    ['redis_url: http://x', 'redis_url: is not a redis:// or rediss:// address'],
    ['log_level: loud', 'log_level: must be one of fatal, error, warn, info, debug, trace, silent'],
    ['ledger: { path: "" }', 'ledger.path: must not be empty'],
    ['alerts: { channels: [{ type: pager }] }', 'alerts.channels[0].type: must be one of log, webhook, slack, email'],
    ['alerts: { channels: [{ type: slack }] }', 'alerts.channels[0].url: is missing'],
    [
      'alerts: { channels: [{ type: webhook, url: "http://127.0.0.1:9/hook" }] }',
      "alerts.channels[0].allow_private: is not true, but the channel's address is not public (loopback)",
    ],
    [
      'alerts: { channels: [{ type: slack, url: "https://0xa000001/hook" }] }',
      "alerts.channels[0].allow_private: is not true, but the channel's address is not public (private)",
    ],
    [
      'alerts: { channels: [{ type: webhook, url: "https://[::ffff:8.8.8.8]/hook", allow_private: false }] }',
      "alerts.channels[0].allow_private: is not true, but the channel's address is not public (an IPv4 address mapped into IPv6)",
    ],
    [
      'alerts: { channels: [{ type: email, host: 169.254.169.254, from: a@b.c, to: [d@e.f] }] }',
      "alerts.channels[0].allow_private: is not true, but the channel's address is not public (a cloud's metadata service)",
    ],
    [
      'alerts: { channels: [{ type: webhook, url: https://x.example, secret: a, secrets: [b] }] }',
      'alerts.channels[0].secrets: stands beside secret, and it is unclear which of the two counts',
    ],
    [
      'alerts: { channels: [{ type: email, host: h, user: u, from: a@b.c, to: [d@e.f] }] }',
      'alerts.channels[0].password: is missing, but user is set',
    ],
    [
      'alerts: { channels: [{ type: email, host: "smtp://h", from: a@b.c, to: [d@e.f] }] }',
      'alerts.channels[0].host: is not the name or address of a server',
    ],
    [
      'alerts: { channels: [{ type: email, host: h, from: a@b.c, to: ["x@y.z\\r\\nBcc: q@r.s"] }] }',
      'alerts.channels[0].to[0]: is not an e-mail address',
    ],
    [
      'alerts: { channels: [{ type: email, host: h, from: "a@b.c, d@e.f", to: [d@e.f] }] }',
      'alerts.channels[0].from: is not an e-mail address',
    ],
    ['alerts: { channels: [{ type: webhook, url: "https://h/#x" }] }', 'alerts.channels[0].url: has a fragment'],
    ['alerts: { channels: [{ name: x }] }', 'alerts.channels[0].type: is missing'],
    ['alerts: { channels: [{ type: webhook }] }', 'alerts.channels[0].url: is missing'],
    [
      'alerts: { channels: [{ type: log }, { type: log, name: log-1 }] }',
      'alerts.channels[1].name: is the same as alerts.channels[0].name',
    ],
    ['alerts: { channels: [{ type: log, url: "https://x" }] }', 'alerts.channels[0].url: is not a setting'],
    ['alerts: { channels: [{ type: log, digest_hour: 24 }] }', 'alerts.channels[0].digest_hour: must be at most 23'],
    ['alerts: { channels: [{ type: log, rules: [] }] }', 'alerts.channels[0].rules: must have at least one entry'],
    [
      'alerts: { channels: [{ type: log, severities: [high] }] }',
      'alerts.channels[0].severities[0]: must be one of warning, critical',
    ],
  ])('%s is refused', (line, fault) => {
    expect(top(line)).toEqual([fault]);
  });

  test.each([
    'http: { host: 0.0.0.0, token: long-random-text-of-24-or-more }',
    'redis_url: rediss://cache.example:6379',
    'redis_url: redis://cache.example:6379\nredis_allow_plain: true',
    'http: { host: 0.0.0.0, port: 0 }',
    'http: { host: localhost }',
  ])('%s is accepted', (line) => {
    expect(() => load(`${line}\nworkspaces:${WORKSPACE}`)).not.toThrow();
  });

  test('an unset variable under http is one fault and does not stop the other checks', () => {
    expect(top(`http: { host: 0.0.0.0, port: "\${PORT}" }`)).toHaveLength(2);
  });
});

describe('routes of channels', () => {
  const channels = (lines: string) => `workspaces:${WORKSPACE}\nalerts:\n  channels:\n${lines}`;

  test('are everything at once unless the channel says otherwise', () => {
    const config = load(
      channels(
        '    - type: log\n    - { type: log, rules: [drop] }\n    - { type: log, digest_hour: 0 }\n' +
          '    - { type: log, follow_ups: at_once }',
      ),
    );
    const severities = ['warning', 'critical'];
    const everything = { severities, rules: [...RULES], digestHour: null, followUps: 'digest' };
    expect(config.alerts.channels).toEqual([
      { type: 'log', name: 'log-1' },
      { type: 'log', name: 'log-2', route: { ...everything, rules: ['drop'] } },
      { type: 'log', name: 'log-3', route: { ...everything, digestHour: 0 } },
      { type: 'log', name: 'log-4', route: { ...everything, followUps: 'at_once' } },
    ]);
  });

  test('name the rule that was meant', () => {
    const error = failure(() => load(channels('    - { type: log, rules: [jump, new-spend, zebra] }')));
    expect(error.faults).toEqual([
      {
        path: 'alerts.channels[0].rules[1]',
        message: `must be one of ${RULES.join(', ')}`,
        hint: 'Did you mean new_spend?',
      },
      {
        path: 'alerts.channels[0].rules[2]',
        message: `must be one of ${RULES.join(', ')}`,
        hint: 'List the rules that this channel is told of, such as jump and incident, or remove the line for all',
      },
    ]);
  });
});

describe('secrets', () => {
  const withSecret = (lines: string) => `workspaces:${WORKSPACE.replace('    secret_key: sk_one\n', '')}${lines}`;

  test('a secret that YAML takes for a number is to be quoted and is not shown', () => {
    const error = failure(() => load(withSecret('    secret_key: 8675309123\n')));
    expect(error.faults).toEqual([
      {
        path: 'workspaces[0].secret_key',
        message: 'must be text, not a number',
        hint: 'Put the value in quotes, so that it is read as text',
      },
    ]);
    expect(error.message).not.toContain('8675309123');
  });

  test('no fault repeats a value', () => {
    const error = failure(() =>
      load(
        `
redis_url: http://:private1@host
http: { host: 0.0.0.0, token: [private2] }
alerts: { channels: [{ type: webhook, url: "https://private3:x@h", secret: " private4" }] }
workspaces:
  - id: a
    base_url: https://h?key=private5
    embed_url: "private6"
    api_key_id: { private7: 1 }
    secret_key: " private8"
    secret_key_file: private9
`,
      ),
    );
    expect(error.faults.length).toBeGreaterThanOrEqual(9);
    expect(error.message).not.toMatch(/private\d/);
  });

  test('a secret without a space before it is not echoed as the name of a setting', () => {
    const { faults, message } = failure(() => load(`workspaces:\n  - { id: a, secret_key:sk_private }\n`));
    expect(message).not.toContain('sk_private');
    expect(faults.map(({ path, message, hint }) => [path, message, hint])).toContainEqual([
      'workspaces[0].secret_key',
      'has no space between its colon and its value',
      'Put a space after the colon',
    ]);
  });

  test('certificates that are not verified are refused, whatever the configuration says', () => {
    expect(failure(() => loadConfig({ env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' }, cwd })).faults).toMatchObject([
      { path: 'NODE_TLS_REJECT_UNAUTHORIZED', hint: expect.stringContaining('NODE_EXTRA_CA_CERTS') },
    ]);
  });

  test('a key and a key file together are a mistake', () => {
    write('key', 'sk_x');
    expect(faultsOf(withSecret('    secret_key: a\n    secret_key_file: key\n'))).toEqual([
      'workspaces[0].secret_key_file: stands beside secret_key, and it is unclear which of the two counts',
    ]);
  });

  test('a key file is read beside the configuration, without its line break', () => {
    mkdirSync(join(cwd, 'etc'));
    write('etc/key', 'sk_x\n');
    const file = write('etc/c.yml', withSecret('    secret_key_file: ./key\n'));
    expect(loadConfig({ file, env: {}, cwd: '/' }).workspaces[0]?.secretKey).toBe('sk_x');
  });

  test('a key file that is missing, empty or spoilt is a mistake', () => {
    const fault = () => faultsOf(withSecret('    secret_key_file: key\n'));
    expect(fault()).toEqual(['workspaces[0].secret_key_file: names a file that cannot be read (ENOENT)']);
    write('key', '\n');
    expect(fault()).toEqual(['workspaces[0].secret_key_file: names an empty file']);
    write('key', ' sk_x\n');
    expect(fault()[0]).toContain('begins or ends with white space');
  });
});
