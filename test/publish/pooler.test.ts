import { spawn } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { PublishTarget } from '../../src/publish/in-postgres.ts';
import { publishLedger } from '../../src/publish/publish-ledger.ts';
import { eventually } from '../support/eventually.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';
import { connectTo, type PostgresServer, serverUser, startPostgres } from '../support/postgres.ts';
import { NOON } from '../support/time/test-clock.ts';
import { expectSameViews } from './compare-views.ts';

const PORT = 6432;
let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

/** PgBouncer, which gives each transaction to whichever of two connections is free. */
async function startPooler(): Promise<(schema: string) => PublishTarget> {
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
  const settings = (schema: string): PublishTarget => ({
    url: `postgres:///postgres?user=usage_ledger&host=${encodeURIComponent(folder)}&port=${PORT}`,
    schema,
    tls: 'off',
  });
  await eventually(async () => {
    const client = await connectTo(settings('public').url, 'public');
    await client.close();
  });
  return settings;
}

test('a ledger is published through a pooler that shares its connections among transactions', async () => {
  const pooled = await startPooler();
  for (const schema of ['one', 'other']) {
    const { connection, path } = openLedger();
    for (const round of [1, 2, 3]) {
      await publish(connection, [usageRecord('acme', round)], { nowMs: NOON + round * 1000, workspaceId: schema });
      await publishLedger({ target: pooled(schema), ledgerPath: path, nowMs: NOON });
    }
    // What the transactions of one schema have set is not seen by those of the other.
    const reader = await server.connect(schema);
    expect(await expectSameViews(connection, reader, 'pooled')).toBeGreaterThan(3);
    await reader.close();
  }
});
