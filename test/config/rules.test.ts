import * as nodeCron from 'node-cron';
import { describe, expect, test } from 'vitest';
import { addressRule, cronRule, identifierRule, payloadRule, redisRule, secretRule } from '../../src/config/rules.ts';
import { isLoopbackHost } from '../../src/net/local-address.ts';

// cspell:ignore mple wörk

test('only addresses of this machine count as loopback', () => {
  for (const host of ['127.0.0.1', '127.9.8.7', 'localhost', 'LOCALHOST', '::1', '[::1]']) {
    expect(isLoopbackHost(host), host).toBe(true);
  }
  for (const host of ['127.evil.com', '127.0.0.1.evil.com', 'localhost.evil.com', '0.0.0.0', '::', '10.0.0.1', '']) {
    expect(isLoopbackHost(host), host).toBe(false);
  }
});

describe('addresses', () => {
  test.each([
    'https://prod.dataapi.papermap.ai',
    'https://proxy.example.com:8443/papermap/',
    'http://127.0.0.1:8080',
    'http://localhost',
    'http://[::1]:9',
    'http://2130706433/',
  ])('%s is accepted', (text) => {
    expect(addressRule(text)).toBeNull();
  });

  test.each([
    ['http://example.com', 'http:// to another machine'],
    ['http://127.0.0.1.example.com', 'http:// to another machine'],
    ['https://user:pw@example.com', 'credentials'],
    ['https://user@example.com', 'credentials'],
    ['http://127.0.0.1@example.com', 'credentials'],
    ['https://example.com/?key=1', 'query'],
    ['https://example.com/?', 'query'],
    ['https://example.com/#x', 'fragment'],
    ['ftp://example.com', 'not an https://'],
    ['example.com', 'not an address'],
    ['https://exa mple.com', 'not an address'],
    ['https://exa\nmple.com', 'not an address'],
  ])('%j is refused', (text, why) => {
    expect(addressRule(text)).toContain(why);
  });
});

describe('cron expressions', () => {
  test.each([
    '*/15 * * * *',
    '17 3 * * 0',
    '0 0 29 2 *',
    '0 6 * * mon-fri',
    '0,30 8-18 1 JAN,JUL *',
    '0 0 * * THU',
    '5 4 * * 7',
  ])('%s is accepted here and by the scheduler', (expression) => {
    expect(cronRule(expression)).toBeNull();
    expect(nodeCron.validate(expression)).toBe(true);
  });

  test.each([
    '* * * * * *',
    '@daily',
    '* * * *',
    '60 * * * *',
    '0 24 * * *',
    '0 0 31 2 *',
    '*/0 * * * *',
    'H * * * *',
    '0 0 1,H * *',
    'a b c d e',
    '',
  ])('%j is refused', (expression) => {
    expect(cronRule(expression)).not.toBeNull();
  });
});

test('the signed text must contain its expiry and nothing unknown', () => {
  expect(payloadRule('{workspace_id}{valid_until}')).toBeNull();
  expect(payloadRule('v1:{valid_until}')).toBeNull();
  expect(payloadRule('{"w":"{workspace_id}","t":{valid_until}}')).toBeNull();
  expect(payloadRule('{workspace_id}')).toContain('does not contain {valid_until}');
  expect(payloadRule('{workspace_id}{valid_until')).toContain('does not contain {valid_until}');
  expect(payloadRule('{workspace}{valid_until}')).toContain('unknown placeholder {workspace}');
  expect(payloadRule('{method}\\n{path}\\n{query}\\n{body_sha256}\\n{api_key_id}.{valid_until}')).toBeNull();
  for (const text of ['{body-sha256}{valid_until}', '{}{valid_until}', '{ path }{valid_until}', '{Path}{valid_until}'])
    expect(payloadRule(text), text).toContain('unknown placeholder');
  expect(payloadRule('{sk_4711_secret}{valid_until}')).toBe('has an unknown placeholder');
  for (const text of ['\\d{valid_until}', '{valid_until}\\']) expect(payloadRule(text), text).toContain('backslash');
});

test('Redis is named by a redis:// or rediss:// address, or not at all', () => {
  for (const text of ['', 'redis://127.0.0.1:6379/2', 'rediss://:pw@cache.example.com'])
    expect(redisRule(text)).toBeNull();
  for (const text of ['http://127.0.0.1', 'redis://', '127.0.0.1:6379', 'redis'])
    expect(redisRule(text)).not.toBeNull();
});

test('identifiers must fit into a header and one segment of a path', () => {
  expect(identifierRule('ws-123_A b/c')).toBeNull();
  for (const text of ['.', '..', 'ws\n1', 'ws\u0000', 'wörk']) expect(identifierRule(text), text).not.toBeNull();
});

test('a secret with white space around it is taken for a slip', () => {
  expect(secretRule('sk a')).toBeNull();
  expect(secretRule('sk_a\n')).not.toBeNull();
  expect(secretRule(' sk_a')).not.toBeNull();
});
