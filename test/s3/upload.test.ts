import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { withBucket } from '../../src/s3/bucket.ts';
import type { S3Way } from '../../src/s3/s3-client.ts';
import { uploadFile } from '../../src/s3/upload.ts';
import { startConnectProxy } from '../support/net/connect-proxy.ts';
import { type Fault, type S3Server, SECRET_KEY, startS3Server } from '../support/net/s3-server.ts';
import { privateAuthority } from '../support/net/self-signed.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const MIB = 1024 * 1024;
const NAME = 'ledger-20260320T020000Z.db';
/** With characters that a signature and an address write otherwise. */
const PREFIX = "a b/ü+(1)'/";

/** A file of random bytes, and what it should arrive as. */
function fileOf(bytes: number): { path: string; sha256: string } {
  const path = join(temporaryFolder(), 'backup.db');
  const content = randomBytes(bytes);
  writeFileSync(path, content);
  return { path, sha256: createHash('sha256').update(content).digest('hex') };
}

function upload(server: S3Server, path: string, way: Partial<S3Way> = {}): Promise<void> {
  const { signal } = new AbortController();
  const place = server.place(PREFIX);
  return withBucket({ place, clock: systemClock, signal, ...way }, (bucket) =>
    uploadFile({ bucket, path, name: NAME, isAbandoned: (name) => name.startsWith('ledger-') }),
  );
}

/** The first request that fits has this fault, and after it none. */
function failOnce(server: S3Server, fits: (request: S3Server['requests'][number]) => boolean, fault: Fault): void {
  let done = false;
  server.fault = (request) => {
    if (done || !fits(request)) return null;
    done = true;
    return fault;
  };
}

const isPart = (number: string) => (request: S3Server['requests'][number]) =>
  request.query.get('partNumber') === number;
const isComplete = ({ method, query }: S3Server['requests'][number]) => method === 'POST' && query.has('uploadId');

test.each([
  ['an empty file', 0],
  ['one request', MIB],
  ['exactly one part', 8 * MIB],
  ['parts', 20 * MIB + 1],
])('%s arrives as it is, under a signature that another library agrees with', async (_what, bytes) => {
  const server = await startS3Server();
  const { path, sha256 } = fileOf(bytes);
  await upload(server, path);
  expect([...server.objects].map(([key, object]) => [key, object.sizeBytes, object.sha256])).toEqual([
    [`${PREFIX}${NAME}`, bytes, sha256],
  ]);
  expect(server.uploads.size).toBe(0);
});

test('a service other than Amazon is asked for the object itself, and hears nothing of checksums, which some refuse', async () => {
  const server = await startS3Server();
  const { path } = fileOf(9 * MIB);
  await upload(server, path);
  expect(server.requests.at(-1)).toMatchObject({ method: 'GET', key: `${PREFIX}${NAME}` });
});

test('Amazon is reached by the name of the bucket, and its checksum is believed if it is that of what was sent', async () => {
  const { ca, server: tls } = privateAuthority('our-bucket.s3.eu-test-1.amazonaws.com');
  const server = await startS3Server({ amazon: true, tls });
  const proxy = await startConnectProxy(Number(new URL(server.access.endpoint ?? '').port));
  const access = { ...server.access, endpoint: null, ca, proxy: { url: proxy.url, noProxy: '' } };
  const place = { ...server.place(PREFIX), access };
  for (const bytes of [10, 17 * MIB]) {
    const { path, sha256 } = fileOf(bytes);
    await upload(server, path, { place });
    expect(server.objects.get(`${PREFIX}${NAME}`)?.sha256).toBe(sha256);
  }
  expect(server.requests.filter(({ method }) => method === 'GET')).toMatchObject([{ key: '' }]);
  const { set } = server.objects;
  server.objects.set = (key, object) =>
    set.call(server.objects, key, { ...object, body: Buffer.alloc(object.sizeBytes), checksum: 'another' });
  expect(await rejection(upload(server, fileOf(10).path, { place }))).toMatchObject({ code: 'upload_faulty' });
});

test.each<[string, Fault, number]>([
  ['a part that is cut off in its middle', 'cut_half', 2],
  ['a part whose answer is lost', 'cut_after', 2],
  ['a service that has no time', { status: 503, code: 'SlowDown' }, 2],
])('%s is sent again', async (_what, fault, bytes) => {
  const server = await startS3Server();
  const { path, sha256 } = fileOf(bytes * 8 * MIB + 5);
  failOnce(server, isPart('2'), fault);
  await upload(server, path);
  expect(server.objects.get(`${PREFIX}${NAME}`)?.sha256).toBe(sha256);
});

test('a service that does not answer is given up in time, and asked again', async () => {
  const server = await startS3Server();
  const { path, sha256 } = fileOf(9 * MIB);
  failOnce(server, isPart('1'), 'silent');
  await upload(server, path, { answerMs: 1000 });
  expect(server.objects.get(`${PREFIX}${NAME}`)?.sha256).toBe(sha256);
}, 60_000);

test('an object whose last answer is lost is there, and that is seen', async () => {
  const server = await startS3Server();
  const { path, sha256 } = fileOf(9 * MIB);
  failOnce(server, isComplete, 'cut_after');
  await upload(server, path);
  expect(server.objects.get(`${PREFIX}${NAME}`)?.sha256).toBe(sha256);
});

test.each<[string, Fault]>([
  ['is cut at every try', 'cut_half'],
  ['is refused', { status: 403, code: 'AccessDenied' }],
])('an upload that %s leaves neither an object nor parts', async (_what, fault) => {
  const server = await startS3Server();
  const { path } = fileOf(17 * MIB);
  server.fault = (request) => (isPart('3')(request) ? fault : null);
  const error = await rejection(upload(server, path, { attempts: 2 }));
  expect(error).toMatchObject({ hint: expect.stringMatching(/\S/) });
  expect([...server.objects.keys(), ...server.uploads.keys()]).toEqual([]);
});

test('an upload that does not come together leaves the object of before', async () => {
  const server = await startS3Server();
  const before = fileOf(3);
  await upload(server, before.path);
  const { path } = fileOf(9 * MIB);
  server.fault = (request) => (isComplete(request) ? { status: 500, code: 'InternalError' } : null);
  await rejection(upload(server, path, { attempts: 1 }));
  expect([...server.objects.values()].map(({ sha256 }) => sha256)).toEqual([before.sha256]);
  expect(server.uploads.size).toBe(0);
});

test.each([
  [
    'another size',
    (server: S3Server) => {
      server.sizeSaid = (bytes) => bytes - 1;
    },
  ],
  [
    'other bytes',
    (server: S3Server) => {
      const { set } = server.objects;
      server.objects.set = (key, object) =>
        set.call(server.objects, key, { ...object, body: Buffer.alloc(object.sizeBytes), checksum: 'another' });
    },
  ],
])('an object of which the service has %s is removed, and told', async (_what, spoil) => {
  const server = await startS3Server();
  spoil(server);
  for (const bytes of [10, 9 * MIB]) {
    const { path } = fileOf(bytes);
    expect(await rejection(upload(server, path))).toMatchObject({ code: 'upload_faulty' });
    expect(server.objects.size).toBe(0);
  }
});

test.each<[string, Partial<S3Server['access']>, string, RegExp]>([
  ['id', { accessKeyId: 'AKIAOTHER' }, 's3_denied', /access_key_id/],
  ['secret', { secretAccessKey: 'not-this' }, 's3_denied', /secret_access_key/],
  ['region', { region: 'us-other-1' }, 's3_region', /the bucket is in eu-test-1/],
])(
  'a wrong %s is told with its remedy, at once and without what the service quotes',
  async (_what, change, code, hint) => {
    const server = await startS3Server();
    const { path } = fileOf(10);
    const place = { ...server.place(''), access: { ...server.access, ...change } };
    const error = await rejection(upload(server, path, { place }));
    expect(error).toMatchObject({ code, hint: expect.stringMatching(hint) });
    expect(JSON.stringify([error, String(error)])).not.toContain(SECRET_KEY);
    expect(server.requests).toHaveLength(1);
  },
);

test('a bucket that is missing, and a clock that is wrong, are told with their remedies', async () => {
  const server = await startS3Server({ now: () => Date.now() + 3_600_000 });
  const { path } = fileOf(10);
  expect(await rejection(upload(server, path))).toMatchObject({ code: 's3_clock', hint: expect.stringMatching(/NTP/) });
  const other = await startS3Server();
  const place = { ...other.place(''), bucket: 'not-ours' };
  expect(await rejection(upload(other, path, { place }))).toMatchObject({ code: 's3_no_bucket' });
});

test('a private authority is trusted when it is named, and the way through a proxy is taken', async () => {
  const { ca, server: tls } = privateAuthority();
  const server = await startS3Server({ tls });
  const { path, sha256 } = fileOf(10);
  expect(await rejection(upload(server, path))).toMatchObject({
    code: 's3_untrusted',
    hint: expect.stringMatching(/s3\.ca_file/),
  });
  const port = Number(new URL(server.access.endpoint ?? '').port);
  const proxy = await startConnectProxy(port);
  const access = {
    ...server.access,
    endpoint: 'https://s3.example.com',
    ca: privateAuthority('s3.example.com').ca,
    proxy: { url: proxy.url, noProxy: '' },
  };
  expect(await rejection(upload(server, path, { place: { ...server.place(''), access }, attempts: 1 }))).toMatchObject({
    code: 's3_untrusted',
  });
  expect(proxy.tunnels.map(({ target }) => target)).toEqual(['s3.example.com:443']);
  await upload(server, path, { place: { ...server.place(''), access: { ...server.access, ca } } });
  expect(server.objects.get(NAME)?.sha256).toBe(sha256);
});

test('memory stays flat while a large file is sent', async () => {
  const server = await startS3Server({ discards: true });
  const path = join(temporaryFolder(), 'backup.db');
  writeFileSync(path, '');
  truncateSync(path, 200 * MIB);
  const beganBytes = process.memoryUsage().external;
  let mostBytes = 0;
  server.fault = () => {
    mostBytes = Math.max(mostBytes, process.memoryUsage().external - beganBytes);
    return null;
  };
  // The object itself is thrown away, so that reading it back cannot agree.
  await rejection(upload(server, path));
  expect(server.requests.filter(({ method, query }) => method === 'PUT' && query.has('partNumber'))).toHaveLength(25);
  expect(mostBytes).toBeLessThan(80 * MIB);
}, 120_000);

test('a process that is killed at any moment leaves a whole object or none, and the next upload removes its parts', async () => {
  const server = await startS3Server();
  const { path, sha256 } = fileOf(20 * MIB);
  const script = fileURLToPath(new URL('./upload-process.mjs', import.meta.url));
  const args = [script, JSON.stringify(server.access), 'p/', path];
  let unfinished = 0;
  for (let kill = 0; kill < 8; kill += 1) {
    const child = spawn(process.execPath, [...args, `ledger-${kill}.db`], { stdio: 'inherit' });
    // One request more each time: from before the first to that which makes the object.
    let left = kill + 1;
    server.fault = () => {
      left -= 1;
      if (left === 0) child.kill('SIGKILL');
      return null;
    };
    await once(child, 'exit');
    unfinished += server.uploads.size;
    expect([...server.objects.values()].every((object) => object.sha256 === sha256)).toBe(true);
  }
  expect(unfinished).toBeGreaterThan(0);
  server.fault = () => null;
  const last = spawn(process.execPath, [...args, NAME], { stdio: 'inherit' });
  expect(await once(last, 'exit')).toEqual([0, null]);
  expect(server.uploads.size).toBe(0);
  expect(server.objects.get(`p/${NAME}`)?.sha256).toBe(sha256);
}, 120_000);

test('the names of a place come from all pages of the list, and those below another slash do not count', async () => {
  const server = await startS3Server({ pageSize: 2 });
  const { path } = fileOf(3);
  const names = ["a&b<c>'.db", 'b.db', 'c.db', 'd.db', 'e.db'];
  const { signal } = new AbortController();
  await withBucket({ place: server.place(PREFIX), clock: systemClock, signal }, async (bucket) => {
    for (const name of [...names, 'below/f.db']) await uploadFile({ bucket, path, name, isAbandoned: () => false });
    expect(await bucket.names()).toEqual(names);
    const copy = join(temporaryFolder(), 'copy');
    failOnce(server, ({ method }) => method === 'GET', { status: 500, code: 'InternalError' });
    await bucket.download('b.db', copy);
    expect(readFileSync(copy)).toEqual(readFileSync(path));
  });
});
