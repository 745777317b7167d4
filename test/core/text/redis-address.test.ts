import { expect, test } from 'vitest';
import { parseRedisAddress } from '../../../src/core/text/redis-address.ts';

// cspell:ignore vate

const NOBODY = { username: '', password: '', db: 0 };

test.each([
  ['redis://127.0.0.1', NOBODY],
  ['redis://127.0.0.1:6379/', NOBODY],
  ['REDISS://cache.example.com:6380/3', { ...NOBODY, db: 3 }],
  ['redis://user:p%40ss@[::1]:6379/2', { username: 'user', password: 'p@ss', db: 2 }],
  ['redis://:only-password@host', { ...NOBODY, password: 'only-password' }],
  ['redis://host?db=4&password=a%23b', { ...NOBODY, password: 'a#b', db: 4 }],
  // The last @ ends the user information, as in the URL standard.
  ['redis://host-user:p:a:ss@host', { ...NOBODY, username: 'host-user', password: 'p:a:ss' }],
])('%s is a server', (url, rest) => {
  expect(parseRedisAddress(url)).toEqual({ kind: 'url', url, ...rest });
});

test.each([
  ['unix:///run/redis/redis.sock', '/run/redis/redis.sock', NOBODY],
  ['redis+unix:///run/redis.sock?db=2', '/run/redis.sock', { ...NOBODY, db: 2 }],
  ['unix://:pw@/run/redis.sock', '/run/redis.sock', { ...NOBODY, password: 'pw' }],
  ['unix://user:p%23w@/run/redis.sock?db=1', '/run/redis.sock', { username: 'user', password: 'p#w', db: 1 }],
  [
    'redis+unix:///run/redis.sock?password=pw&username=me',
    '/run/redis.sock',
    { ...NOBODY, username: 'me', password: 'pw' },
  ],
  ['UNIX:///srv/a%20b/redis.sock', '/srv/a b/redis.sock', NOBODY],
  ['unix:///run/redis@2/redis.sock', '/run/redis@2/redis.sock', NOBODY],
])('%s is a socket', (url, path, rest) => {
  expect(parseRedisAddress(url)).toEqual({ kind: 'socket', path, ...rest });
});

test.each([
  'redis://user:pa#ss@host:6379',
  'redis://:p#ss@host',
  'redis://user:12#4@host',
  'redis://:50%off@host',
  'redis://:100%@host',
  'redis://user:p/w@host',
  'redis://user:p?w@host',
  'rediss://user:p@ss/word@host',
  'unix://:p#w@/run/redis.sock',
  'redis://host?password=a#b',
])('%s has a password that is not percent-encoded', (url) => {
  expect(parseRedisAddress(url)).toMatch(/percent-encode .* in the password/);
});

test.each([
  ['redis://', /no host/],
  ['redis://:6379', /no host/],
  ['redis://host:port', /not an address/],
  ['redis://host/queue', /database that is not a number/],
  ['unix:///run/redis.sock?db=one', /database that is not a number/],
  ['unix://run/redis.sock', /three slashes/],
  ['unix://', /no socket/],
  ['/run/redis/redis.sock', /write unix:\/\/ before it/],
  ['127.0.0.1:6379', /not an address|unix/],
  ['redis://ho st', /not an address/],
  ['postgres://host/db', /redis:\/\/, rediss:\/\/ or unix:\/\//],
])('%s is refused', (url, words) => {
  expect(parseRedisAddress(url)).toMatch(words);
});

test('no refusal repeats a part of the address', () => {
  for (const url of ['redis://private:pri#vate@h', 'private://x', 'unix://private/x', 'redis://h/private', 'private']) {
    expect(parseRedisAddress(url)).not.toMatch(/private|pri|vate/);
  }
});
