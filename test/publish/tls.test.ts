import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { inPostgresTransaction, type PublishTarget } from '../../src/publish/in-postgres.ts';
import { createWorld, FIRST, workspaceSettings } from '../commands/world.ts';
import { freePort } from '../queue/support.ts';
import { privateAuthority } from '../support/net/self-signed.ts';
import { serverUser, startPostgres } from '../support/postgres.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A server on a port of its own, which takes nobody over it without encryption where it has a certificate. */
async function listening(certificate: ReturnType<typeof privateAuthority>['server'] | null): Promise<number> {
  const port = await freePort();
  const options = ['-c', 'listen_addresses=127.0.0.1'];
  if (certificate !== null) {
    const parent = temporaryFolder();
    chmodSync(parent, 0o755);
    const folder = join(parent, 'tls');
    mkdirSync(folder);
    const files = { 'server.key': certificate.key, 'server.crt': certificate.cert };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
    const user = serverUser();
    if (user !== null) for (const name of Object.keys(files)) chownSync(join(folder, name), user.uid, user.gid);
    options.push('-c', 'ssl=on');
    options.push(
      '-c',
      `ssl_key_file=${join(folder, 'server.key')}`,
      '-c',
      `ssl_cert_file=${join(folder, 'server.crt')}`,
    );
  }
  const server = await startPostgres({ port, options });
  onTestFinished(() => server.remove());
  return port;
}

const urlOf = (host: string, port: number): string => `postgres://usage_ledger@${host}:${port}/postgres`;

function isEncrypted(target: PublishTarget): Promise<unknown> {
  return inPostgresTransaction(target, async (client) => {
    const { rows } = await client.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
    return rows[0]?.ssl;
  });
}

test('a server is trusted by its authority and its name, unless the configuration asks for less', async () => {
  const { ca, server: certificate } = privateAuthority('localhost');
  const url = urlOf('localhost', await listening(certificate));
  const schema = 'public';
  expect(await isEncrypted({ url, schema, tls: 'verify', ca })).toBe(true);
  expect(await isEncrypted({ url, schema, tls: 'require' })).toBe(true);
  expect(await isEncrypted({ url, schema, tls: 'off' })).toBe(false);
  for (const trust of [{}, { ca: privateAuthority('localhost').ca }]) {
    expect(await rejection(isEncrypted({ url, schema, tls: 'verify', ...trust }))).toMatchObject({
      ...{ code: 'publish_failed', retryable: false },
      hint: expect.stringContaining('publish.ca_file'),
    });
  }
  const elsewhere = url.replace('localhost', '127.0.0.1');
  expect(await rejection(isEncrypted({ url: elsewhere, schema, tls: 'verify', ca }))).toMatchObject({
    ...{ code: 'publish_failed', hint: expect.stringContaining('publish.ca_file') },
  });
});

test('a server without encryption is refused where encryption is asked for', async () => {
  const url = urlOf('localhost', await listening(null));
  for (const tls of ['verify', 'require'] as const) {
    expect(await rejection(isEncrypted({ url, schema: 'public', tls }))).toMatchObject({
      code: 'publish_failed',
      message: expect.stringContaining('does not support SSL'),
      hint: expect.stringContaining('publish.tls'),
    });
  }
});

test('`publish` takes the authority from ca_file, and says what to do without it', async () => {
  const { ca, server: certificate } = privateAuthority('localhost');
  const url = urlOf('localhost', await listening(certificate));
  const world = await createWorld(FIRST);
  const publishTo = (more: Record<string, unknown>): void =>
    world.configure({
      publish: { url, tls: 'verify', ...more },
      workspaces: [workspaceSettings(world.sandbox, FIRST)],
    });
  publishTo({});
  expect((await world.run('sync')).code).toBe(0);
  const refused = await world.run('publish');
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(refused.err).toMatch(/certificate[\s\S]*publish\.ca_file/);
  writeFileSync(join(world.folder, 'postgres-ca.pem'), ca);
  publishTo({ ca_file: './postgres-ca.pem' });
  expect((await world.run('publish')).code).toBe(0);
});
