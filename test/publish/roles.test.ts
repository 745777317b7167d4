import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connectReplica, type ReplicaClient } from '../../src/publish/connect.ts';
import { Publisher } from '../../src/publish/publisher.ts';
import { replicaDrift } from '../../src/publish/replica/migrate-replica.ts';
import { MIRRORS } from '../../src/publish/replica/mirrors.ts';
import { VIEWS } from '../../src/publish/replica/statements.ts';
import { buildRichLedger } from '../ledger/audit/verify/tamper/rich-ledger.ts';
import { startPostgres } from '../support/postgres.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NOON } from '../support/time/test-clock.ts';
import { expectSameTables } from './compare-tables.ts';
import { expectSameViews } from './views/compare-views.ts';

const SCHEMA = 'usage_ledger';
const CONTRACT = VIEWS.map(({ name }) => name).filter((name) => name.startsWith('finance_'));

/** A database in which nobody at hand is a superuser: who publishes owns the schema, finance reads, and one sees one workspace. */
async function plainRoles() {
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  const owner = await server.connect('public');
  onTestFinished(() => owner.close());
  await owner.query(`CREATE ROLE publisher LOGIN; CREATE ROLE finance_reader LOGIN; CREATE ROLE only_ws_1 LOGIN;
    CREATE SCHEMA ${SCHEMA} AUTHORIZATION publisher; CREATE SCHEMA for_ws_1 AUTHORIZATION publisher`);
  const settingsOf = (role: string, schema = SCHEMA) => {
    const { url, tls } = server.settings(schema);
    return { url: url.replace('user=usage_ledger', `user=${role}`), schema, tls };
  };
  const as = async (role: string, schema = SCHEMA): Promise<ReplicaClient> => {
    const client = await connectReplica(settingsOf(role, schema));
    onTestFinished(() => client.close());
    return client;
  };
  const path = join(temporaryFolder(), 'ledger.db');
  const connection = await buildRichLedger();
  connection.exec(`VACUUM INTO '${path}'`);
  const publisher = new Publisher(settingsOf('publisher'), path);
  onTestFinished(() => publisher.close());
  await publisher.publish({ nowMs: NOON });
  return { owner, as, publisher, connection };
}

test('who publishes is no superuser, and who reads gets the views and nothing else', async () => {
  const { as, connection } = await plainRoles();
  const publisher = await as('publisher');
  expect(await publisher.query('SELECT rolsuper FROM pg_roles WHERE rolname = current_user')).toEqual([
    { rolsuper: false },
  ]);
  await expectSameTables(connection, publisher, 'as a plain role');
  await expectSameViews(connection, publisher, 'as a plain role');
  await publisher.query(
    `GRANT USAGE ON SCHEMA ${SCHEMA} TO finance_reader; GRANT SELECT ON ${CONTRACT.join(', ')} TO finance_reader`,
  );
  const reader = await as('finance_reader');
  for (const view of CONTRACT) await reader.query(`SELECT * FROM ${view} LIMIT 1`);
  expect(await reader.query('SELECT workspace_id FROM finance_usage')).not.toEqual([]);
  for (const statement of [
    ...MIRRORS.map(({ name }) => `SELECT 1 FROM ${name}`),
    ...['SELECT 1 FROM ledgers', 'SELECT 1 FROM checkpoints', 'SELECT 1 FROM counted_workspaces'],
    ...[
      'DELETE FROM finance_usage',
      'UPDATE finance_runs SET digest = NULL',
      'CREATE TABLE mine (a int)',
      'DROP VIEW finance_usage',
    ],
  ]) {
    expect(await rejection(reader.query(statement)), statement).toMatchObject({
      message: expect.stringMatching(/denied|owner|cannot/),
    });
  }
});

test('somebody who may see one workspace sees it by a view of its own, and no function of theirs sees more', async () => {
  const { as } = await plainRoles();
  const publisher = await as('publisher');
  await publisher.query(`CREATE VIEW for_ws_1.usage WITH (security_barrier) AS
    SELECT * FROM ${SCHEMA}.finance_usage WHERE workspace_id = 'ws-1';
    GRANT USAGE ON SCHEMA for_ws_1 TO only_ws_1; GRANT SELECT ON for_ws_1.usage TO only_ws_1`);
  const one = await as('only_ws_1', 'for_ws_1');
  expect(await one.query('SELECT DISTINCT workspace_id FROM usage')).toEqual([{ workspace_id: 'ws-1' }]);
  expect(await rejection(one.query(`SELECT 1 FROM ${SCHEMA}.finance_usage`))).toMatchObject({ code: 'replica_denied' });
  await one.query(`CREATE FUNCTION pg_temp.peek(text) RETURNS boolean COST 0.0000001 AS $$ BEGIN
    IF $1 = 'ws-2' THEN RAISE EXCEPTION 'seen'; END IF; RETURN true; END $$ LANGUAGE plpgsql;
    SELECT count(*) FROM usage WHERE pg_temp.peek(workspace_id)`);
});

test('row-level security on all tables changes nothing; forced on their owner it is told and ended', async () => {
  const { as, publisher, connection } = await plainRoles();
  const client = await as('publisher');
  for (const { name } of MIRRORS) await client.query(`ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY`);
  await expectSameTables(connection, client, 'row-level security');
  await expectSameViews(connection, client, 'row-level security');
  expect(await replicaDrift(client)).toEqual([]);
  await client.query('ALTER TABLE tenant_usage FORCE ROW LEVEL SECURITY');
  expect(await client.query('SELECT 1 FROM tenant_usage LIMIT 1')).toEqual([]);
  await publisher.close();
  const { mended } = await publisher.publish({ nowMs: NOON });
  expect(mended).toEqual(['table tenant_usage hides rows from its owner by row-level security']);
  await expectSameViews(connection, client, 'mended');
});
