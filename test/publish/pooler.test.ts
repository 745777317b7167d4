import { spawn } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { connectReplica, type ReplicaSettings } from '../../src/publish/connect.ts';
import { migrateReplica } from '../../src/publish/replica/migrate-replica.ts';
import { publishLedger } from '../../src/publish/send/publish-ledger.ts';
import { eventually } from '../support/eventually.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';
import { type PostgresServer, serverUser, startPostgres } from '../support/postgres.ts';
import { NOON } from '../support/time/test-clock.ts';
import { expectSameTables } from './compare-tables.ts';
import { expectSameViews } from './views/compare-views.ts';

const PORT = 6432;
let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

/** PgBouncer, which gives each transaction to whichever of two connections is free. */
async function startPooler(): Promise<(schema: string) => ReplicaSettings> {
  const folder = mkdtempSync(join(tmpdir(), 'ul-pool-'));
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
* = host=${server.folder} user=usage_ledger dbname=postgres
[pgbouncer]
listen_addr =
unix_socket_dir = ${folder}
listen_port = ${PORT}
auth_type = any
pool_mode = transaction
default_pool_size = 2
server_round_robin = 1
`,
  );
  const user = serverUser();
  if (user !== null) for (const path of [folder, file]) chownSync(path, user.uid, user.gid);
  const child = spawn('pgbouncer', [file], { ...(user ?? {}), stdio: 'ignore' });
  onTestFinished(async () => {
    child.kill('SIGINT');
    await new Promise((resolve) => child.once('exit', resolve));
    rmSync(folder, { recursive: true, force: true });
  });
  const settings = (schema: string): ReplicaSettings => ({
    url: `postgres:///postgres?user=usage_ledger&host=${encodeURIComponent(folder)}&port=${PORT}`,
    schema,
    tls: 'off',
  });
  await eventually(async () => {
    const client = await connectReplica(settings('public'));
    await client.close();
  });
  return settings;
}

test('a ledger is published through a pooler that shares its connections among transactions', async () => {
  const pooled = await startPooler();
  const clients = await Promise.all(['one', 'other'].map((schema) => connectReplica(pooled(schema))));
  for (const client of clients) onTestFinished(() => client.close());
  for (const [index, client] of clients.entries()) await migrateReplica(client, index === 0 ? 'one' : 'other');
  for (const at of [0, 1]) {
    for (const [index, client] of clients.entries()) {
      const { connection } = openLedger();
      await client.query('DELETE FROM ledgers');
      await publish(connection, [usageRecord('acme', 10 + at)], { workspaceId: `ws-${index}` });
      await publishLedger({ connection, client, by: 'test', nowMs: NOON });
      await publish(connection, [usageRecord('acme', 20 + at)], { workspaceId: `ws-${index}`, nowMs: NOON + 1000 });
      await publishLedger({ connection, client, by: 'test', nowMs: NOON });
      await expectSameTables(connection, client, 'pooled');
      expect(await expectSameViews(connection, client, 'pooled')).toBeGreaterThan(3);
    }
  }
  // What one schema's client has set is not seen by the other's.
  const counts = clients.map((client) =>
    client.query<{ id: string }>('SELECT DISTINCT workspace_id AS id FROM finance_usage'),
  );
  expect(await Promise.all(counts)).toEqual([[{ id: 'ws-0' }], [{ id: 'ws-1' }]]);
});
