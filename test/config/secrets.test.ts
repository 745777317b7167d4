import { expect, test } from 'vitest';
import { secretsOf } from '../../src/config/secrets.ts';
import type { Config } from '../../src/config/types.ts';

const base: Config = {
  file: null,
  ledger: { path: '/x' },
  redisUrl: null,
  http: { host: '127.0.0.1', port: 0, token: null },
  workspaces: [],
  backup: null,
  alerts: { channels: [{ type: 'log', name: 'log-1' }] },
  logLevel: 'info',
};

test('a configuration without secrets has none', () => {
  expect(secretsOf(base)).toEqual([]);
});

test('keys, webhook secrets with and without their mark, the token and the password of Redis are secrets', () => {
  const workspace = { secretKey: 'sk_1' } as Config['workspaces'][number];
  const config: Config = {
    ...base,
    redisUrl: 'redis://user:p%40ss@127.0.0.1:6379',
    http: { host: '0.0.0.0', port: 1, token: 'token-1' },
    workspaces: [workspace, workspace],
    alerts: { channels: [{ type: 'webhook', name: 'w', url: 'https://x', secret: 'whsec_hook' }] },
  };
  expect(secretsOf(config).sort()).toEqual(['hook', 'p%40ss', 'p@ss', 'sk_1', 'token-1', 'whsec_hook']);
});

test('a password that is not percent-encoded rightly is a secret as it stands', () => {
  expect(secretsOf({ ...base, redisUrl: 'redis://:50%off@h?password=query-pw' }).sort()).toEqual([
    '50%off',
    'query-pw',
  ]);
});
