import { expect, onTestFinished, test } from 'vitest';
import { inPostgresTransaction } from '../../src/publish/in-postgres.ts';
import { eventually } from '../support/eventually.ts';
import { startPostgres } from '../support/postgres.ts';
import { rejection } from '../support/rejection.ts';

test('a connection that is cut, and a stop, leave nothing and end at once', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  const target = server.target('public');
  const stopping = new AbortController();
  const stopped = inPostgresTransaction(
    target,
    async (client) => {
      await client.query('CREATE TABLE half ()');
      stopping.abort();
      await client.query('SELECT pg_sleep(60)');
    },
    stopping.signal,
  );
  expect(await rejection(stopped)).toMatchObject({ code: 'publish_unreachable' });
  expect(await rejection(inPostgresTransaction(target, async () => 1, stopping.signal))).toBeInstanceOf(Error);
  const reader = await server.connect('public');
  onTestFinished(() => reader.close());
  await eventually(async () => {
    expect(await reader.query("SELECT to_regclass('half') AS half")).toEqual([{ half: null }]);
  });
});
