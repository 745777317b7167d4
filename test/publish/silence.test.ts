import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { connectReplica } from '../../src/publish/connect.ts';
import { replicaRows } from '../../src/publish/receive/replica-rows.ts';
import { migrateReplica } from '../../src/publish/replica/migrate-replica.ts';
import { mirror } from '../../src/publish/replica/mirrors.ts';
import { copyInto } from '../../src/publish/send/copy-rows.ts';
import { type PostgresServer, startPostgres } from '../support/postgres.ts';
import { rejection } from '../support/rejection.ts';
import { NOON } from '../support/time/test-clock.ts';
import { createVirtualClock } from '../support/time/virtual-clock.ts';

let server: PostgresServer;
beforeEach(async () => {
  server = await startPostgres();
});
afterEach(() => server.remove());

test('a connection that breaks while rows are on their way is one failure, and none that nobody catches', async () => {
  const settings = server.settings('broken');
  const client = await connectReplica(settings);
  await migrateReplica(client, 'broken');
  const lines = function* (): Generator<string, void> {
    for (let row = 0; row < 100_000; row += 1) {
      // By then the server has asked for more.
      if (row === 50_000) client.pg.connection.stream.destroy();
      yield `1\tname ${row}\tvalue`;
    }
  };
  const failure = await rejection(
    client.transaction(() => copyInto(client, 'ledger_meta', mirror('ledger_meta'), lines())),
  );
  expect(failure).toMatchObject({ code: 'replica_unreachable', retryable: true });
  // What a stream says after its end comes by later turns of the loop.
  await new Promise((resolve) => setImmediate(resolve));
  await client.close();
});

test('whoever says nothing within a transaction is given up by the server, and what it has locked is free', async () => {
  const settings = server.settings('idle');
  const [asleep, awake] = await Promise.all([connectReplica(settings, { silenceMs: 300 }), connectReplica(settings)]);
  await migrateReplica(awake, 'idle');
  const lock = 'LOCK TABLE ledgers';
  const failure = await rejection(
    asleep.transaction(async () => {
      await asleep.query(lock);
      // Waits for as long as the other one holds it.
      await awake.query(lock);
      await asleep.query('SELECT 1');
    }),
  );
  expect(failure).toMatchObject({ code: 'replica_unreachable', retryable: true });
  await Promise.all([asleep.close(), awake.close()]);
});

test('a server that is frozen is given up, by a question, by rows on their way there and back, and by a farewell', async () => {
  const settings = server.settings('frozen');
  const [asking, sending, reading, leaving] = await Promise.all(
    [4_000, 4_000, 4_000, 60_000].map((silenceMs) => connectReplica(settings, { silenceMs })),
  );
  if (asking === undefined || sending === undefined || reading === undefined || leaving === undefined) {
    throw new Error('four connections');
  }
  await migrateReplica(asking, 'frozen');
  server.freeze();
  const frozen = expect.objectContaining({ code: 'replica_unreachable', retryable: true });
  const rows = ['1\tname\tvalue'];
  const failures = await Promise.all([
    rejection(asking.query('SELECT 1')),
    rejection(copyInto(sending, 'ledger_meta', mirror('ledger_meta'), rows)),
    rejection(replicaRows(reading, mirror('ledger_meta'), 1).next()),
  ]);
  expect(failures).toEqual([frozen, frozen, frozen]);
  await Promise.all([asking.close(), sending.close(), reading.close(), leaving.close()]);
  server.thaw();
  const after = await connectReplica(settings);
  expect(await after.query('SELECT count(*) AS rows FROM ledger_meta')).toEqual([{ rows: 0n }]);
  await after.close();
});

test('a server that takes a connection and says nothing is given up after ten seconds', async () => {
  const mute = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void mute.close());
  await once(mute, 'listening');
  const { port } = mute.address() as AddressInfo;
  const clock = createVirtualClock(NOON);
  const settings = { url: `postgres://ledger@127.0.0.1:${port}/finance`, schema: 'mute', tls: 'off' } as const;
  const failure = rejection(connectReplica(settings, { clock }));
  const [socket] = await once(mute, 'connection');
  await clock.advance(9_900);
  expect(socket.closed).toBe(false);
  await clock.advance(100);
  expect(await failure).toMatchObject({ code: 'replica_unreachable', retryable: true });
  expect(clock.waiting).toBe(0);
});
