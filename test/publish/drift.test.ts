import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { LedgerConnection } from '../../src/ledger/store/file/open.ts';
import { migrateReplica, REPLICA_VERSION, replicaDrift } from '../../src/publish/replica/migrate-replica.ts';
import { createMirror, MIRRORS } from '../../src/publish/replica/mirrors.ts';
import { INDEXES, OWN, VIEWS } from '../../src/publish/replica/statements.ts';
import { publishLedger } from '../../src/publish/send/publish-ledger.ts';
import { buildRichLedger } from '../ledger/audit/verify/tamper/rich-ledger.ts';
import { NOON } from '../support/time/test-clock.ts';
import { expectSameTables } from './compare-tables.ts';
import { fileReplica } from './file-replica.ts';
import { expectSameViews } from './views/compare-views.ts';

const SCHEMA = 'drift';
/** Looks at the views after each change, too, which takes as long as all the rest. */
const EVERY_VIEW = process.env.REPLICA_VIEWS === '1';
const replica = fileReplica(SCHEMA);
let connection: LedgerConnection;

beforeEach(async () => {
  connection = await buildRichLedger();
  await replica().query('TRUNCATE ledgers');
  await send();
});

function send() {
  return publishLedger({ connection, client: replica(), by: 'test', nowMs: NOON });
}

/** Expects the next publisher to say what was changed, and to leave the replica whole. Returns what it says. */
async function expectMended(words: unknown): Promise<readonly string[]> {
  const client = replica();
  const found = await replicaDrift(client);
  expect(found).toEqual(words);
  expect(await migrateReplica(client, SCHEMA)).toEqual(found);
  // And finds nothing more to mend.
  expect(await migrateReplica(client, SCHEMA)).toEqual([]);
  await send();
  await expectSameTables(connection, client, String(found));
  if (EVERY_VIEW) await expectSameViews(connection, client, String(found));
  return found;
}

/** Expects the same, and always looks at the views. */
async function expectViewsMended(words: unknown): Promise<void> {
  const found = await expectMended(words);
  await expectSameViews(connection, replica(), String(found));
}

test('whoever changes what the replica is made of raises its version, or an older program would change it back', () => {
  const made = [...[...OWN, ...INDEXES, ...VIEWS].map(({ sql }) => sql), ...MIRRORS.map(createMirror)].join('\n');
  const digest = createHash('sha256').update(made).digest('hex').slice(0, 16);
  expect({ version: REPLICA_VERSION, digest }).toEqual({ version: 1_795_622_400_000, digest: '521ac8a8fd7a365d' });
});

test('a replica as it was made has no drift', async () => {
  expect(await replicaDrift(replica())).toEqual([]);
});

describe.each(MIRRORS.map(({ name }) => name))('table %s', (name) => {
  test('that was dropped is made anew and sent again', async () => {
    await replica().query(`DROP TABLE ${name} CASCADE`);
    const [lost] = await expectMended(expect.any(Array));
    expect(lost).toBe(`table ${name} is missing`);
  });
});

test('all tables that were dropped at once are made anew, and all views over them', async () => {
  for (const { name } of MIRRORS) await replica().query(`DROP TABLE ${name} CASCADE`);
  await expectViewsMended(expect.arrayContaining(MIRRORS.map(({ name }) => `table ${name} is missing`)));
});

test.each([
  ['ALTER TABLE runs DROP COLUMN slot CASCADE', ['table runs has no slot of this version']],
  ['ALTER TABLE runs DROP COLUMN pages CASCADE', ['table runs has no pages of this version']],
  ['ALTER TABLE leases ALTER COLUMN run_key TYPE numeric', ['table leases has no run_key of this version']],
  ['ALTER TABLE leases ALTER COLUMN holder_host DROP NOT NULL', ['table leases has no holder_host of this version']],
  ['ALTER TABLE leases DROP CONSTRAINT leases_pkey', ['table leases has another key']],
  ['DROP INDEX runs_by_time', ['index runs_by_time is missing']],
  ['DROP TABLE checkpoints', ['table checkpoints is missing']],
  ['DROP VIEW finance_usage', ['view finance_usage is missing']],
  ['DROP VIEW moved_workspaces CASCADE', expect.arrayContaining(['view moved_workspaces is missing'])],
])('%s is told and mended', async (statement, words) => {
  await replica().query(statement);
  await expectViewsMended(words);
});

test('a view that was rewritten is told and mended, and who could read it still can', async () => {
  const client = replica();
  await client.query('DO $$ BEGIN CREATE ROLE reader; EXCEPTION WHEN duplicate_object THEN NULL; END $$');
  await client.query('GRANT SELECT ON finance_usage, finance_runs TO reader');
  const may = async (view: string) =>
    (await client.query("SELECT has_table_privilege('reader', $1, 'SELECT') AS may", [view]))[0];
  const [usage] = await client.query<{ text: string }>("SELECT pg_get_viewdef('finance_usage') AS text");
  const halved = usage?.text.replace('u.credits_used,', 'u.credits_used / 2 AS credits_used,');
  expect(halved).not.toBe(usage?.text);
  await client.query(`CREATE OR REPLACE VIEW finance_usage AS ${halved}`);
  await expectViewsMended(['view finance_usage is not the one of this version']);
  expect(await may('finance_usage')).toEqual({ may: true });

  await client.query(
    'DROP VIEW finance_runs; CREATE VIEW finance_runs AS SELECT 1 AS run_id; GRANT SELECT ON finance_runs TO reader',
  );
  await expectViewsMended(['view finance_runs is not the one of this version']);
  expect(await may('finance_runs')).toEqual({ may: true });
  expect(await may('finance_usage')).toEqual({ may: true });
  expect(await may('finance_alerts')).toEqual({ may: false });
});

test('what somebody made beside ours is left alone', async () => {
  const client = replica();
  await client.query('CREATE VIEW of_finance AS SELECT * FROM finance_usage; CREATE TABLE notes (note text)');
  await client.query('ALTER TABLE runs ADD COLUMN note text; CREATE INDEX runs_by_note ON runs (note)');
  expect(await replicaDrift(client)).toEqual([]);
  await client.query('DROP VIEW of_finance; DROP TABLE notes; ALTER TABLE runs DROP COLUMN note');
});

test('a replica of an older version is brought to this one, which is no news', async () => {
  const client = replica();
  await client.query('UPDATE schema_migrations SET created_at = created_at - 1');
  await client.query('DROP TABLE workspace_ends CASCADE; ALTER TABLE runs DROP COLUMN last_change_seq CASCADE');
  expect(await replicaDrift(client)).toEqual(['the schema is the one of an older version']);
  expect(await migrateReplica(client, SCHEMA)).toEqual([]);
  expect(await replicaDrift(client)).toEqual([]);
  await send();
  await expectSameTables(connection, client, 'an older version');
});
