import { expect, test } from 'vitest';
import { namedSecrets, secretsOf } from '../../src/config/reading/secrets.ts';
import type { Config } from '../../src/config/types.ts';
import { createRedactor } from '../../src/core/text/redact.ts';
import { plainConfig, workspaceConfig } from '../support/run/workspace-config.ts';

// cspell:ignore cdefg fcdefg

const OUTBOUND = { allowPrivate: false, timeoutMs: 10_000 };

const base = plainConfig('/ledger.db');

test('a configuration without secrets has none', () => {
  expect(secretsOf(base)).toEqual([]);
});

test('keys, webhook secrets with and without their mark, the token and the password of Redis are secrets', () => {
  const workspace = workspaceConfig('http://127.0.0.1', {
    id: 'ws-1',
    keys: [{ apiKeyId: 'ak_1', secretKey: 'sk_1' }],
  });
  const config: Config = {
    ...base,
    redisUrl: 'redis://user:p%40ss@127.0.0.1:6379',
    http: { ...base.http, token: 'token-1' },
    workspaces: [workspace, workspace],
    alerts: {
      channels: [{ type: 'webhook', name: 'w', url: 'https://x', secrets: ['whsec_hook', 'older'], ...OUTBOUND }],
    },
  };
  expect(secretsOf(config).sort()).toEqual(['hook', 'older', 'p%40ss', 'p@ss', 'sk_1', 'token-1', 'whsec_hook']);
});

test('a password that is not percent-encoded rightly is a secret as it stands', () => {
  expect(secretsOf({ ...base, redisUrl: 'redis://:50%off@h?password=query-pw' }).sort()).toEqual([
    '50%off',
    'query-pw',
  ]);
});

test('what stands in the address of a channel and the password of a mail server are secrets, short words are not', () => {
  const channels: Config['alerts']['channels'] = [
    { type: 'webhook', name: 'w', url: 'https://x/hook?token=a%2Bb%2Fcdefg&json=true', secrets: [], ...OUTBOUND },
    { type: 'slack', name: 's', url: 'https://hooks.example.com/services/T1/B1/abcdefgh', ...OUTBOUND },
    {
      type: 'email',
      name: 'e',
      host: 'mail.example.com',
      port: 587,
      tls: 'starttls',
      allowInsecure: false,
      login: { user: 'alerts', password: 'smtp-pw' },
      from: 'a@example.com',
      to: ['b@example.com'],
      ...OUTBOUND,
    },
  ];
  expect(secretsOf({ ...base, alerts: { channels } }).sort()).toEqual([
    '/services/T1/B1/abcdefgh',
    'a%2Bb%2Fcdefg',
    'a+b/cdefg',
    'abcdefgh',
    'smtp-pw',
  ]);
  const redact = createRedactor(secretsOf({ ...base, alerts: { channels } }));
  const line =
    'POST https://hooks.example.com/services/T1/B1/abcdefgh failed, then https://x/hook?token=a%2Bb%2Fcdefg&json=true with smtp-pw';
  expect(redact(line)).toBe(
    'POST https://hooks.example.com[redacted] failed, then https://x/hook?token=[redacted]&json=true with [redacted]',
  );
});

test('each secret names the setting that it comes from', () => {
  const workspace = workspaceConfig('http://127.0.0.1', {
    id: 'ws-1',
    keys: [{ apiKeyId: 'ak_1', secretKey: 'sk_1' }],
  });
  const config: Config = {
    ...base,
    redisUrl: 'redis://:pw@127.0.0.1:6379',
    workspaces: [workspace],
    alerts: { channels: [{ type: 'webhook', name: 'w', url: 'https://x', secrets: ['whsec_hook'], ...OUTBOUND }] },
  };
  expect(namedSecrets(config).map(({ setting, value }) => `${setting}: ${value}`)).toEqual([
    'secret_key of workspace ws-1: sk_1',
    'secret of channel w: whsec_hook',
    'secret of channel w: hook',
    'the password in redis_url: pw',
    'the password in redis_url: pw',
  ]);
});
