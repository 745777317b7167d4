import { expect, test } from 'vitest';
import { secretsOf } from '../../src/config/reading/secrets.ts';
import { configCases, failure, shownInSample } from './config-cases.ts';

// cspell:ignore akia

const KEYS = 'region: eu-1, access_key_id: AKIA, secret_access_key: secret-of-s3';

const cases = configCases();
const { loadSample } = cases;

test('a place is a bucket and a prefix, reached at Amazon or at an endpoint, and the key may lie in files', async () => {
  const { s3, backup } = await loadSample(
    `s3: { ${KEYS}, endpoint: "https://s3.example.com/" }\nbackup: { to: "s3://b-1/a b/c/" }`,
  );
  expect(s3).toMatchObject({ endpoint: 'https://s3.example.com', region: 'eu-1', ca: null, proxy: null });
  expect(backup?.to).toEqual({ access: s3, bucket: 'b-1', prefix: 'a b/c/' });
  cases.write('key', 'from-a-file\n', 0o600);
  const fromFiles = await loadSample(`s3: { region: auto, access_key_id_file: key, secret_access_key_file: key }`);
  expect(fromFiles.s3).toMatchObject({ endpoint: null, accessKeyId: 'from-a-file', secretAccessKey: 'from-a-file' });
});

test('the secret is redacted', async () => {
  expect(secretsOf(await loadSample(`s3: { ${KEYS} }`))).toContain('secret-of-s3');
});

test('what the sample shows of buckets is valid', async () => {
  const { s3, backup } = await loadSample(
    `${shownInSample('s3')}\n${shownInSample('backup').replace(/^( *)# to/m, '$1to')}`,
  );
  expect(s3?.secretAccessKey).toBe('secret-of-s3');
  expect(backup?.to).toMatchObject({ bucket: 'our-bucket', prefix: 'ledger-1/' });
});

test.each([
  ['backup: { to: "s3://b-1/p" }', 's3', 'is missing, but `to:` needs it'],
  [`s3: { ${KEYS} }\nbackup: { to: "https://b-1/p" }`, 'backup.to', 'is not an address such as s3://bucket/prefix'],
  [`s3: { ${KEYS} }\nbackup: { to: "s3://B/p" }`, 'backup.to', 'is not an address such as s3://bucket/prefix'],
  [`s3: { ${KEYS}, endpoint: "http://minio.lan:9000" }`, 's3.endpoint', 'uses http:// to another machine'],
  ['s3: { region: eu-1, access_key_id: AKIA }', 's3.secret_access_key', 'is missing'],
  [`s3: { ${KEYS}, access_key_id_file: key }`, 's3.access_key_id_file', 'conflicts with access_key_id'],
  [`s3: { ${KEYS}, bucket: b }`, 's3.bucket', 'is not a setting'],
])('%s is refused', async (settings, path, message) => {
  cases.write('key', 'from-a-file\n', 0o600);
  expect((await failure(() => loadSample(settings))).faults).toEqual([
    { path, message: expect.stringContaining(message), hint: expect.stringMatching(/\S/) },
  ]);
});
