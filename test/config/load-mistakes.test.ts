import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { RULES } from '../../src/core/text/alert-words.ts';
import { configCases, failure, WORKSPACE } from './config-cases.ts';

// cspell:ignore consistancy htpp

const cases = configCases();
const { faultsOf, load, write } = cases;

describe('mistakes', () => {
  test.each([
    ['{ tenant: a }', 'needs either credits or an amount'],
    ["{ tenant: a, credits: 1, amount: '1', currency: EUR }", 'needs either credits or an amount'],
    ["{ tenant: a, amount: '1' }", 'has an amount without a currency'],
    ["{ tenant: a, amount: '1.5', currency: JPY }", 'has an amount with more decimals than its currency'],
    ["{ amount: '1', currency: EUR }", 'has an amount without a tenant'],
  ])('the budget %s %s', async (budget, fault) => {
    expect(await faultsOf(`workspaces:${WORKSPACE}\nbudgets:\n  - ${budget}\n`)).toEqual([`budgets[0]: ${fault}`]);
  });

  test('five mistakes are reported as five, each with its path and a remedy', async () => {
    const error = await failure(() =>
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

  test('a key in the wrong place is told where it belongs', async () => {
    const { faults } = await failure(() => load(`cron: "0 * * * *"\nwebhooks: 1\nworkspaces:${WORKSPACE}`));
    expect(faults.map((fault) => [fault.path, fault.hint])).toEqual([
      ['cron', 'It belongs elsewhere: defaults.cron'],
      ['webhooks', expect.stringContaining('the settings here are ledger, redis_url')],
    ]);
  });

  test('a misspelt key without a value is a mistake, too', async () => {
    expect(await faultsOf(`htpp:\n__proto__: {}\nworkspaces:${WORKSPACE}`)).toEqual([
      '__proto__: is not a setting',
      'htpp: is not a setting',
    ]);
  });

  test('a workspace that lacks everything lists all of it', async () => {
    expect(await faultsOf('workspaces:\n  - name: x\n')).toEqual(
      ['api_key_id', 'base_url', 'embed_url', 'id', 'secret_key'].map((key) => `workspaces[0].${key}: is missing`),
    );
  });

  test('keys stand in the place of one key, and each needs both parts', async () => {
    const one = WORKSPACE.replace(/ +(api_key_id|secret_key): .*\n/g, '');
    expect(await faultsOf(`workspaces:${one}    keys: [{ api_key_id: a }]\n`)).toEqual([
      'workspaces[0].keys[0].secret_key: is missing',
    ]);
    expect(await faultsOf(`workspaces:${WORKSPACE}    keys: [{ api_key_id: a, secret_key: s }]\n`)).toEqual([
      'workspaces[0].keys: conflicts with api_key_id: only one of the two may be set',
    ]);
    const file = cases.write(
      'keys.yml',
      `workspaces:${one}    keys: [{ api_key_id: a, secret_key: s_a }, { api_key_id: b, secret_key: s_b }]\n`,
    );
    expect((await loadConfig({ file, env: {}, cwd: '/' })).workspaces[0]?.keys).toEqual([
      { apiKeyId: 'a', secretKey: 's_a' },
      { apiKeyId: 'b', secretKey: 's_b' },
    ]);
  });

  test.each([
    'workspaces: []\n',
    'ledger: { path: x }\n',
    '',
    '- a\n',
    'text',
    'workspaces: 5\n',
    'workspaces: [5, ~]\n',
  ])('a file without workspaces is refused: %j', async (text) => {
    expect(await faultsOf(text)).not.toEqual([]);
  });

  test('syntax errors stand at file, line and column', async () => {
    expect(await faultsOf('workspaces: []\nworkspaces: []\n')).toEqual(['case.yml:2:1: repeats a setting']);
  });

  const setting = (line: string) => faultsOf(`workspaces:${WORKSPACE}    ${line}\n`);
  test.each([
    ['per_page: 0', 'per_page: must be at least 1'],
    ['per_page: 101', 'per_page: must be at most 100'],
    ['per_page: 1.5', 'per_page: must be a whole number, not a fraction'],
    ['concurrency: 0', 'concurrency: must be at least 1'],
    ['concurrency: 257', 'concurrency: must be at most 256'],
    ['requests_per_second: 0', 'requests_per_second: must be at least 1'],
    ['requests_per_second: 1000001', 'requests_per_second: must be at most 1000000'],
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
  ])('%s is refused', async (line, fault) => {
    expect(await setting(line)).toEqual([`workspaces[0].${fault}`]);
  });

  const top = (line: string) => faultsOf(`${line}\nworkspaces:${WORKSPACE}`);
  test.each([
    ['http: { port: 65536 }', 'http.port: must be at most 65535'],
    ['http: { port: -1 }', 'http.port: must be at least 0'],
    [
      'http: { host: 0.0.0.0, token: twenty-three-characters }',
      'http.token: is shorter than 24 characters, but http.host can be reached from other machines',
    ],
    ['redis_url: redis://cache.example:6379', 'redis_url: uses redis:// to another machine, which encrypts nothing'],
    ['redis_url: http://x', 'redis_url: is not a redis://, rediss:// or unix:// address'],
    ['workers: 99999999999999999999', 'workers: must be at most 1000'],
    ['log_level: loud', 'log_level: must be one of fatal, error, warn, info, debug, trace, silent'],
    ['ledger: { path: "" }', 'ledger.path: must not be empty'],
    [
      'alerts: { channels: [{ type: pager }] }',
      'alerts.channels[0].type: must be one of log, webhook, slack, teams, pagerduty, email, heartbeat',
    ],
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
      'alerts.channels[0].secrets: conflicts with secret: only one of the two may be set',
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
    ['timezone: Mars/Base', 'timezone: is not the name of a time zone'],
    ['defaults: { timezone: "+01:00" }', 'defaults.timezone: is not the name of a time zone'],
    [
      'alerts: { channels: [{ type: log, timezone: Berlin }] }',
      'alerts.channels[0].timezone: is not the name of a time zone',
    ],
    [
      'alerts: { channels: [{ type: log, remind_after_hours: 4, remind_hours: 8-18 }] }',
      'alerts.channels[0].remind_hours: is not a range such as 08:00-18:00',
    ],
    [
      'alerts: { channels: [{ type: log, remind_weekdays: mon-fri }] }',
      'alerts.channels[0].remind_weekdays: is set, but remind_after_hours is missing',
    ],
    ['alerts: { channels: [{ type: log, rules: [] }] }', 'alerts.channels[0].rules: must have at least one entry'],
    [
      'alerts: { channels: [{ type: log, severities: [high] }] }',
      'alerts.channels[0].severities[0]: must be one of warning, critical',
    ],
  ])('%s is refused', async (line, fault) => {
    expect(await top(line)).toEqual([fault]);
  });

  test.each([
    'http: { host: 0.0.0.0, token: long-random-text-of-24-or-more }',
    'redis_url: rediss://cache.example:6379',
    'redis_url: redis://cache.example:6379\nredis_allow_plain: true',
    'http: { host: 0.0.0.0 }',
    'http: { host: "::", token: "" }',
    'http: { host: localhost }',
  ])('%s is accepted', async (line) => {
    await expect(load(`${line}\nworkspaces:${WORKSPACE}`)).resolves.toBeDefined();
  });

  test('an unset variable under http is one fault and does not stop the other checks', async () => {
    expect(await top(`http: { host: 0.0.0.0, token: short, port: "\${PORT}" }`)).toHaveLength(2);
  });
});

test('an unknown time zone is named with its setting, and an example shows the way', async () => {
  const { faults } = await failure(() =>
    load(`timezone: Mars/Base\nworkspaces:${WORKSPACE}    timezone: CET/Berlin\n`),
  );
  expect(faults).toEqual([
    {
      path: 'timezone',
      message: 'is not the name of a time zone',
      hint: 'Give the IANA name of a time zone, such as Europe/Berlin, or remove the line for UTC',
    },
    {
      path: 'workspaces[0].timezone',
      message: 'is not the name of a time zone',
      hint: 'Give the IANA name of a time zone, such as Europe/Berlin, or remove the line for the one at the top',
    },
  ]);
});

describe('routes of channels', () => {
  const channels = (lines: string) => `workspaces:${WORKSPACE}\nalerts:\n  channels:\n${lines}`;

  test('are everything at once unless the channel says otherwise', async () => {
    const config = await load(
      channels(
        '    - type: log\n    - { type: log, rules: [drop] }\n    - { type: log, digest_hour: 0 }\n' +
          '    - { type: log, follow_ups: at_once }',
      ),
    );
    const severities = ['warning', 'critical'];
    const everything = { severities, rules: [...RULES], digestHour: null, followUps: 'digest' };
    expect(config.alerts.channels).toEqual([
      { type: 'log', name: 'log-1', timezone: 'UTC' },
      { type: 'log', name: 'log-2', timezone: 'UTC', route: { ...everything, rules: ['drop'] } },
      { type: 'log', name: 'log-3', timezone: 'UTC', route: { ...everything, digestHour: 0 } },
      { type: 'log', name: 'log-4', timezone: 'UTC', route: { ...everything, followUps: 'at_once' } },
    ]);
  });

  test('name the rule that was meant', async () => {
    const error = await failure(() => load(channels('    - { type: log, rules: [jump, new-spend, zebra] }')));
    expect(error.faults).toEqual([
      {
        path: 'alerts.channels[0].rules[1]',
        message: `must be one of ${RULES.join(', ')}`,
        hint: 'Did you mean new_spend?',
      },
      {
        path: 'alerts.channels[0].rules[2]',
        message: `must be one of ${RULES.join(', ')}`,
        hint: 'List the rules that this channel receives, such as jump and budget, or remove the line for all',
      },
    ]);
  });
});

describe('secrets', () => {
  const withSecret = (lines: string) => `workspaces:${WORKSPACE.replace('    secret_key: sk_one\n', '')}${lines}`;

  test('a secret that YAML takes for a number is to be quoted and is not shown', async () => {
    const error = await failure(() => load(withSecret('    secret_key: 8675309123\n')));
    expect(error.faults).toEqual([
      {
        path: 'workspaces[0].secret_key',
        message: 'must be text, not a number',
        hint: 'Put the value in quotes, so that it is read as text',
      },
    ]);
    expect(error.message).not.toContain('8675309123');
  });

  test('no fault repeats a value', async () => {
    const error = await failure(() =>
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

  test('a secret key without a space behind its colon is not repeated, wherever it stands', async () => {
    const key = 'sk_canary_without_a_space';
    const inPlace = `workspaces:\n  - { id: ws-1, secret_key:${key} }`;
    for (const text of [
      inPlace,
      `workspaces:\n  - id: ws-1\n    secret_key:${key}`,
      `workspaces:\n  - secret_key:${key}`,
      `secret_key:${key}\nworkspaces:${WORKSPACE}`,
      `defaults: { signing: { secret_key:${key} } }\nworkspaces:${WORKSPACE}`,
      `secret_key:${key}`,
    ]) {
      expect((await failure(() => load(text))).message, text).not.toContain('canary');
    }
    expect((await failure(() => load(inPlace))).faults).toContainEqual({
      path: 'workspaces[0].secret_key',
      message: 'has no space between its colon and its value',
      hint: 'Put a space after the colon',
    });
  });

  test('certificates that are not verified are refused, whatever the configuration says', async () => {
    expect(
      (await failure(() => loadConfig({ env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' }, cwd: cases.cwd }))).faults,
    ).toMatchObject([{ path: 'NODE_TLS_REJECT_UNAUTHORIZED', hint: expect.stringContaining('NODE_EXTRA_CA_CERTS') }]);
  });

  test('a key file is read beside the configuration, without its line break', async () => {
    mkdirSync(join(cases.cwd, 'etc'));
    write('etc/key', 'sk_x\n');
    const file = write('etc/c.yml', withSecret('    secret_key_file: ./key\n'));
    expect((await loadConfig({ file, env: {}, cwd: '/' })).workspaces[0]?.keys[0]?.secretKey).toBe('sk_x');
  });

  test('a key file that is missing, empty or spoilt is a mistake', async () => {
    const fault = () => faultsOf(withSecret('    secret_key_file: key\n'));
    expect(await fault()).toEqual([
      'workspaces[0].secret_key_file: names a file that cannot be read (it does not exist)',
    ]);
    write('key', '\n');
    expect(await fault()).toEqual(['workspaces[0].secret_key_file: names an empty file']);
    write('key', ' sk_x\n');
    expect((await fault())[0]).toContain('begins or ends with white space');
  });
});
