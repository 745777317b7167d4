import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { publishLedger } from '../../src/publish/publish-ledger.ts';
import { COPIED_TABLES } from '../../src/publish/tables.ts';
import { buildRichLedger } from '../ledger/audit/verify/tamper/rich-ledger.ts';
import { type Reader, startPostgres } from '../support/postgres.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NOON } from '../support/time/test-clock.ts';
import { expectSameViews, financeViews } from './compare-views.ts';

const SCHEMA = 'usage_ledger';
const MANUAL = new URL('../../docs/publish.md', import.meta.url);

/** A database in which nobody at hand is a superuser: who publishes owns the schema, finance reads, and one sees one workspace. */
async function plainRoles() {
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  const owner = await server.connect('public');
  onTestFinished(() => owner.close());
  await owner.query(`CREATE ROLE publisher LOGIN; CREATE ROLE finance_reader LOGIN; CREATE ROLE only_ws_1 LOGIN;
    CREATE SCHEMA ${SCHEMA} AUTHORIZATION publisher; CREATE SCHEMA for_ws_1 AUTHORIZATION publisher`);
  const as = async (role: string, schema = SCHEMA): Promise<Reader> => {
    const client = await server.connect(schema, role);
    onTestFinished(() => client.close());
    return client;
  };
  const path = join(temporaryFolder(), 'ledger.db');
  const connection = await buildRichLedger();
  connection.exec(`VACUUM INTO '${path}'`);
  const { url, ...target } = server.target(SCHEMA);
  const asPublisher = { ...target, url: url.replace('user=usage_ledger', 'user=publisher') };
  await publishLedger({ target: asPublisher, ledgerPath: path, nowMs: NOON });
  return { owner, as, connection, views: financeViews(connection) };
}

test('who publishes is no superuser, and who reads gets the views and nothing else', async () => {
  const { as, connection, views } = await plainRoles();
  const publisher = await as('publisher');
  expect(await publisher.query('SELECT rolsuper FROM pg_roles WHERE rolname = current_user')).toEqual([
    { rolsuper: false },
  ]);
  await expectSameViews(connection, publisher, 'as a plain role');
  await publisher.query(
    `GRANT USAGE ON SCHEMA ${SCHEMA} TO finance_reader; GRANT SELECT ON ${views.join(', ')} TO finance_reader`,
  );
  const reader = await as('finance_reader');
  for (const view of views) await reader.query(`SELECT * FROM ${view} LIMIT 1`);
  expect(await reader.query('SELECT workspace_id FROM finance_usage')).not.toEqual([]);
  for (const statement of [
    ...COPIED_TABLES.map(({ name }) => `SELECT 1 FROM ${name}`),
    ...[
      'SELECT 1 FROM ledgers',
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
  expect(await rejection(one.query(`SELECT 1 FROM ${SCHEMA}.finance_usage`))).toMatchObject({ code: '42501' });
  await one.query(`CREATE FUNCTION pg_temp.peek(text) RETURNS boolean COST 0.0000001 AS $$ BEGIN
    IF $1 = 'ws-2' THEN RAISE EXCEPTION 'seen'; END IF; RETURN true; END $$ LANGUAGE plpgsql;
    SELECT count(*) FROM usage WHERE pg_temp.peek(workspace_id)`);
});

test('the reader of the manual reads every view and nothing else', async () => {
  const { owner, as, connection } = await plainRoles();
  await owner.query('DROP ROLE finance_reader');
  const [, script = ''] = /```sql\n(CREATE ROLE finance_reader[^`]*)```/.exec(readFileSync(MANUAL, 'utf8')) ?? [];
  await owner.query(script);
  const reader = await as('finance_reader');
  expect(await expectSameViews(connection, reader, 'as the reader')).toBeGreaterThan(3);
  expect(await reader.query('SELECT position FROM finance_ledgers')).toHaveLength(1);
  expect(await rejection(reader.query('SELECT * FROM tenant_usage'))).toMatchObject({ code: '42501' });
  expect(await rejection(reader.query('DELETE FROM finance_runs'))).toBeInstanceOf(Error);
});
