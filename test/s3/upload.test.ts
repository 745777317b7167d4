import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { withBucket } from '../../src/s3/bucket.ts';
import { uploadFile } from '../../src/s3/upload.ts';
import { startConnectProxy } from '../support/net/connect-proxy.ts';
import { type Fault, type S3Server, SECRET_KEY, startS3Server } from '../support/net/s3-server.ts';
import { privateAuthority } from '../support/net/self-signed.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { failOnce, fileOf, isPart, MIB, NAME, PREFIX, upload } from './upload-setup.ts';

// cspell:ignore akiaother

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
