import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { secretsOf } from '../../src/config/reading/secrets.ts';
import { sampleConfig } from '../../src/config/samples/sample-config.ts';
import type { Config } from '../../src/config/types.ts';
import type { ConfigError, ConfigFault } from '../../src/core/errors.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ENV = {
  USAGE_API_WORKSPACE_ID: 'ws',
  USAGE_API_KEY_ID: 'ak',
  USAGE_API_SECRET_KEY: 'sk_of_this_test',
  S3_ACCESS_KEY_ID: 'AKIA',
  S3_SECRET_ACCESS_KEY: 'secret-of-s3',
};
const KEYS = 'region: eu-1, access_key_id: AKIA, secret_access_key: secret-of-s3';

/** The sample with these settings, loaded from a folder of its own. */
function load(settings: string): Config {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'usage-ledger.yml'), `${sampleConfig()}\n${settings}\n`);
  writeFileSync(join(folder, 'key'), 'from-a-file\n', { mode: 0o600 });
  return loadConfig({ file: 'usage-ledger.yml', env: ENV, cwd: folder });
}

function faultsOf(settings: string): readonly ConfigFault[] {
  try {
    load(settings);
  } catch (error) {
    return (error as ConfigError).faults;
  }
  return [];
}

test('a place is a bucket and a prefix, reached at Amazon or at an endpoint, and the key may lie in files', () => {
  const { s3, backup } = load(
    `s3: { ${KEYS}, endpoint: "https://s3.example.com/" }\nbackup: { to: "s3://b-1/a b/c/" }`,
  );
  expect(s3).toMatchObject({ endpoint: 'https://s3.example.com', region: 'eu-1', ca: null, proxy: null });
  expect(backup?.to).toEqual({ access: s3, bucket: 'b-1', prefix: 'a b/c/' });
  const fromFiles = load(`s3: { region: auto, access_key_id_file: key, secret_access_key_file: key }`);
  expect(fromFiles.s3).toMatchObject({ endpoint: null, accessKeyId: 'from-a-file', secretAccessKey: 'from-a-file' });
});

test('the secret is redacted', () => {
  expect(secretsOf(load(`s3: { ${KEYS} }`))).toContain('secret-of-s3');
});

test('what the sample shows of buckets is valid', () => {
  const uncommented = (group: string) =>
    (sampleConfig().match(new RegExp(`^# ${group}:.*\\n(# {3}.*\\n)+`, 'm'))?.[0] ?? '').replace(/^# ?/gm, '');
  const { s3, backup } = load(`${uncommented('s3')}\n${uncommented('backup').replace(/^( *)# to/m, '$1to')}`);
  expect(s3?.secretAccessKey).toBe('secret-of-s3');
  expect(backup?.to).toMatchObject({ bucket: 'our-bucket', prefix: 'ledger-1/' });
});

test.each([
  ['backup: { to: "s3://b-1/p" }', 's3', 'is missing, but `to:` needs it'],
  [`s3: { ${KEYS} }\nbackup: { to: "https://b-1/p" }`, 'backup.to', 'is not an address such as s3://bucket/prefix'],
  [`s3: { ${KEYS} }\nbackup: { to: "s3://B/p" }`, 'backup.to', 'is not an address such as s3://bucket/prefix'],
  [`s3: { ${KEYS}, endpoint: "http://minio.lan:9000" }`, 's3.endpoint', 'uses http:// to another machine'],
  ['s3: { region: eu-1, access_key_id: AKIA }', 's3.secret_access_key', 'is missing'],
  [`s3: { ${KEYS}, access_key_id_file: key }`, 's3.access_key_id_file', 'stands beside access_key_id'],
  [`s3: { ${KEYS}, bucket: b }`, 's3.bucket', 'is not a setting'],
])('%s is refused', (settings, path, message) => {
  expect(faultsOf(settings)).toEqual([
    { path, message: expect.stringContaining(message), hint: expect.stringMatching(/\S/) },
  ]);
});
