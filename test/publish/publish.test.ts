import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { resumeWorkspace, retireWorkspace } from '../../src/ledger/journal/retire-workspace.ts';
import { openLedger, publish as runWith, usageRecord } from '../support/open-ledger.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NOON } from '../support/time/test-clock.ts';
import { expectSameViews, financeViews } from './compare-views.ts';
import { copyServer } from './copy-server.ts';

// cspell:ignore 𝔘nicode

const copies = copyServer();

/** The same ledger twice, as a copy of its file is. */
async function twoCopies() {
  const original = openLedger();
  await runWith(original.connection, [usageRecord('acme', 10)]);
  original.connection.pragma('wal_checkpoint(TRUNCATE)');
  const path = join(temporaryFolder(), 'copy.db');
  copyFileSync(original.path, path);
  return [original, openLedger(path)] as const;
}

test('what has been published is not sent again, and what is new is', async () => {
  const { publish, reader } = await copies.open();
  const { connection, path } = openLedger();
  await runWith(connection, [usageRecord('acme', 10), usageRecord('globex', 7)]);
  expect(await publish(path)).toMatchObject({ from: 0, to: 1 });
  expect(await publish(path)).toMatchObject({ from: 1, to: 1, rows: 0 });
  const { digest } = await runWith(connection, [usageRecord('acme', 12), usageRecord('globex', 7)], {
    nowMs: NOON + 1000,
  });
  expect(await publish(path)).toMatchObject({ from: 1, to: 2, headDigest: digest });
  await expectSameViews(connection, reader, 'in the end');
  expect(await reader.query('SELECT position, head_digest FROM finance_ledgers')).toEqual([
    { position: 2n, head_digest: digest },
  ]);
});

test('identifiers keep every byte, also those that Postgres has no text for', async () => {
  const { publish, reader } = await copies.open();
  const { connection, path } = openLedger();
  const ids = ['a\0b', 'a␀0b', '␀', '\\N', 'tab\tline\nfeed\rback\\slash', "o'hara", '𝔘nicode'];
  await runWith(
    connection,
    ids.map((id) => usageRecord(id, 2n ** 62n / BigInt(ids.length))),
  );
  await publish(path);
  expect((await publish(path, { compare: 'check' })).differences).toEqual([]);
  const shown = await reader.query<{ id: string }>('SELECT tenant_id AS id FROM finance_tenants');
  const expected = ids.map((id) => id.replaceAll('␀', '␀␀').replaceAll('\0', '␀0'));
  expect(shown.map(({ id }) => id).sort()).toEqual(expected.sort());
});

test('a second copy of a ledger is refused once the two have parted, and takes the place of the first by a repair', async () => {
  const { publish, reader } = await copies.open();
  const [one, other] = await twoCopies();
  await publish(one.path);
  expect((await publish(other.path)).rows, 'they are the same so far').toBe(0);
  const ours = await runWith(one.connection, [usageRecord('acme', 11)], { nowMs: NOON + 1000 });
  const theirs = await runWith(other.connection, [usageRecord('acme', 12)], { nowMs: NOON + 1000 });
  await publish(one.path);
  const error = await rejection(publish(other.path));
  expect(error).toMatchObject({ code: 'publish_refused', retryable: false });
  expect(error.message).toContain(ours.digest);
  expect(error.message).toContain(theirs.digest);
  expect((await publish(other.path, { compare: 'check' })).divergence).toContain(ours.digest);
  await expectSameViews(one.connection, reader, 'after the refusal');
  await publish(other.path, { compare: 'repair' });
  await expectSameViews(other.connection, reader, 'after the repair');
  expect((await publish(other.path, { compare: 'check' })).differences).toEqual([]);
});

test('publishers that come at once publish each link once', async () => {
  const { publish, reader } = await copies.open();
  const { connection, path } = openLedger();
  await runWith(connection, [usageRecord('acme', 10)]);
  const reports = await Promise.all([publish(path), publish(path), publish(path)]);
  expect(reports.map(({ from }) => from).sort()).toEqual([0, 1, 1]);
  await expectSameViews(connection, reader, 'at once');
});

test('many ledgers lie side by side in one schema', async () => {
  const { publish, reader } = await copies.open();
  const ledgers = [openLedger(), openLedger(), openLedger()];
  for (const [index, { connection, path }] of ledgers.entries()) {
    await runWith(connection, [usageRecord('acme', 10 + index)], { workspaceId: `ws-${index}` });
    await publish(path);
  }
  for (const { connection, path } of ledgers) {
    expect(await expectSameViews(connection, reader, 'one of three')).toBeGreaterThan(3);
    expect((await publish(path, { compare: 'check' })).differences).toEqual([]);
  }
});

test('a workspace counts once: what another ledger publishes waits until that has ended it', async () => {
  const { publish, reader } = await copies.open();
  const [one, other] = [openLedger(), openLedger()];
  for (const { connection } of [one, other]) {
    await runWith(connection, [usageRecord('acme', 10)], { workspaceId: 'ws-1' });
    await runWith(connection, [usageRecord('acme', 20)], { workspaceId: 'ws-2', nowMs: NOON + 1000 });
  }
  await publish(one.path);
  expect(await rejection(publish(other.path))).toMatchObject({ code: 'publish_taken', retryable: true });
  const end = (connection: typeof one.connection, workspaceId: string): unknown =>
    retireWorkspace(
      connection,
      { workspaceId, by: 'Ada', note: 'read elsewhere', elsewhere: true, nowMs: NOON + 2000 },
      () => 0,
    );
  end(other.connection, 'ws-1');
  end(one.connection, 'ws-2');
  expect(await rejection(publish(other.path))).toMatchObject({ code: 'publish_taken' });
  await publish(one.path);
  await publish(other.path);
  for (const view of ['finance_usage', 'finance_history', 'finance_runs', 'finance_period_totals', 'finance_tenants']) {
    expect(
      await reader.query(
        `SELECT g.ledger_id, v.workspace_id FROM ${view} v JOIN finance_ledgers g USING (ledger_id) ORDER BY 2`,
      ),
      view,
    ).toEqual(
      [one, other].map(({ connection }, index) => ({
        ledger_id: connection.prepare("SELECT value FROM ledger_meta WHERE name = 'ledger_id'").pluck().get(),
        workspace_id: `ws-${index + 1}`,
      })),
    );
  }
  for (const { path } of [one, other]) expect((await publish(path, { compare: 'check' })).differences).toEqual([]);
  // One that is read again after all comes back as a whole.
  resumeWorkspace(
    one.connection,
    { workspaceId: 'ws-2', by: 'Ada', note: 'after all', nowMs: NOON + 3000 },
    () => undefined,
  );
  end(other.connection, 'ws-2');
  await publish(other.path);
  await publish(one.path);
  expect(await reader.query('SELECT workspace_id, credits_used FROM finance_usage ORDER BY 1')).toEqual([
    { workspace_id: 'ws-1', credits_used: 10n },
    { workspace_id: 'ws-2', credits_used: 20n },
  ]);
});

test('the views have the columns of SQLite, with ledger_id before them', async () => {
  const { publish, reader, schema } = await copies.open();
  const { connection, path } = openLedger();
  await publish(path);
  for (const view of financeViews(connection)) {
    const columns = connection.prepare(`SELECT name FROM pragma_table_info('${view}') ORDER BY cid`).pluck().all();
    const there = await reader.query<{ column_name: string }>(
      'SELECT column_name FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2 ORDER BY ordinal_position',
      [schema, view],
    );
    const names = there.map(({ column_name }) => column_name);
    expect(names, view).toEqual(['ledger_id', ...columns]);
  }
});

test('a schema of another version is refused and left as it is', async () => {
  const { publish, reader, schema } = await copies.open();
  const { path } = openLedger();
  await publish(path);
  await reader.query("UPDATE publish_version SET version = 'of tomorrow'");
  expect(await rejection(publish(path))).toMatchObject({ code: 'publish_other_version' });
  const old = await copies.open();
  await old.reader.query(`CREATE SCHEMA ${old.schema}; CREATE TABLE ledgers (ledger_id text)`);
  expect(await rejection(old.publish(path))).toMatchObject({
    code: 'publish_other_version',
    message: `the schema "${old.schema}" was created by another version of usage-ledger`,
  });
  expect(
    await old.reader.query('SELECT count(*) AS tables FROM pg_tables WHERE schemaname = $1', [schema]),
  ).not.toEqual([{ tables: 0n }]);
});
