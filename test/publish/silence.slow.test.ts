import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { inPostgresTransaction } from '../../src/publish/in-postgres.ts';
import { startPostgres } from '../support/postgres.ts';
import { rejection } from '../support/rejection.ts';

test('a server that is frozen is given up, and one that is frozen within a transaction is given up by the server', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  const target = server.target('public');
  const asleep = inPostgresTransaction(
    target,
    async (client) => {
      await client.query('CREATE TABLE locked ()');
      // For longer than the server waits.
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      await client.query('SELECT 1');
    },
    undefined,
    500,
  );
  expect(await rejection(asleep)).toMatchObject({ code: 'publish_unreachable', retryable: true });
  const frozen = inPostgresTransaction(
    target,
    async (client) => {
      server.freeze();
      await client.query('SELECT 1');
    },
    undefined,
    500,
  );
  expect(await rejection(frozen)).toMatchObject({
    code: 'publish_unreachable',
    message: expect.stringContaining('no data within'),
  });
  server.thaw();
});

test('a server that takes a connection and says nothing is given up after ten seconds', {
  timeout: 30_000,
}, async () => {
  const mute = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void mute.close());
  await once(mute, 'listening');
  const { port } = mute.address() as AddressInfo;
  const target = { url: `postgres://ledger@127.0.0.1:${port}/finance`, schema: 'mute', tls: 'off' } as const;
  expect(await rejection(inPostgresTransaction(target, async () => 1))).toMatchObject({
    code: 'publish_unreachable',
    retryable: true,
  });
});
