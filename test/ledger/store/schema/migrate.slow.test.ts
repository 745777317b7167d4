import { execFile } from 'node:child_process';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { openForWriting, openReader } from '../../../../src/ledger/store/file/open.ts';
import { migrateLedger } from '../../../../src/ledger/store/schema/migrate.ts';
import { viewLedger } from '../../../support/ledger-view.ts';
import { nextVersion, readJournal } from '../../../support/next-version.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { rejection } from '../../../support/rejection.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const run = promisify(execFile);

test('a fresh ledger gets every migration, an id, and files that only its owner can read', () => {
  const path = join(temporaryFolder(), 'new', 'ledger.db');
  const connection = openForWriting(path);

  const report = migrateLedger(connection, path, '1.2.3', NOON);

  expect(report).toEqual({ applied: readJournal().entries.length, backup: null });
  expect(connection.prepare('SELECT DISTINCT version, applied_at FROM schema_migrations').all()).toEqual([
    { version: '1.2.3', applied_at: '2026-03-20T12:00:00.000Z' },
  ]);
  expect(connection.prepare("SELECT value FROM ledger_meta WHERE name = 'ledger_id'").pluck().get()).toMatch(
    /^[-0-9a-f]{36}$/,
  );
  expect(connection.pragma('foreign_keys', { simple: true })).toBe(1);
  expect(connection.pragma('journal_mode', { simple: true })).toBe('wal');
  for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700);
  connection.close();
});

test('a current ledger is not changed', () => {
  const { connection, path } = openLedger();
  expect(migrateLedger(connection, path, '9.9.9', NOON)).toEqual({ applied: 0, backup: null });
});

test('a ledger of a newer version is refused for writing and reading, and the error names that version', () => {
  const { connection, path } = openLedger();
  connection.prepare('INSERT INTO schema_migrations VALUES (?, ?, ?, ?)').run(9e12, 'x', '99.1.0', 'later');

  for (const open of [() => migrateLedger(connection, path, '1.0.0', NOON), () => openReader(path)]) {
    expect(open).toThrow(expect.objectContaining({ code: 'ledger_newer', message: expect.stringContaining('99.1.0') }));
  }
});

test('the reader refuses a file that is not a ledger, an older one and a missing one, with a remedy', () => {
  const folder = temporaryFolder();
  const text = join(folder, 'text.db');
  writeFileSync(text, 'this is not a database, but long enough to be taken for one'.repeat(20));
  const empty = join(folder, 'empty.db');
  openForWriting(empty).close();

  expect(() => openReader(text)).toThrow(expect.objectContaining({ code: 'ledger_unreadable' }));
  expect(() => openReader(empty)).toThrow(expect.objectContaining({ code: 'ledger_outdated' }));
  expect(() => openReader(join(folder, 'none.db'))).toThrow(expect.objectContaining({ code: 'ledger_missing' }));
  expect(existsSync(join(folder, 'none.db'))).toBe(false);
});

test('a ledger from before the first release is refused for writing and reading, with a remedy', () => {
  const { connection, path } = openLedger();
  connection.exec('DELETE FROM schema_migrations');
  connection.prepare('INSERT INTO schema_migrations VALUES (?, ?, ?, ?)').run(1_795_264_272_427, 'x', '0.1.0', 'early');

  for (const open of [() => migrateLedger(connection, path, '1.0.0', NOON), () => openReader(path)]) {
    expect(open).toThrow(
      expect.objectContaining({ code: 'ledger_too_old', hint: expect.stringContaining('usage-ledger sync') }),
    );
  }
});

test('`when` of the journal strictly increases, because migrations out of order would be skipped silently', () => {
  const whens = readJournal().entries.map(({ when }) => when);
  expect(whens.length).toBeGreaterThan(0);
  expect(whens).toEqual([...new Set(whens)].sort((a, b) => a - b));
});

test('processes that open a fresh ledger at the same time all succeed, and each migration is done once', async () => {
  const path = join(temporaryFolder(), 'ledger.db');

  const reports = await Promise.all(Array.from({ length: 3 }, () => openInChild(ROOT, path)));

  expect(reports.reduce((sum, { applied }) => sum + applied, 0)).toBe(readJournal().entries.length);
  expect(viewLedger(path).value("SELECT count(*) FROM ledger_meta WHERE name = 'ledger_id'")).toBe(1n);
});

test('an older ledger is copied before it is migrated, also when two processes do so at the same time', async () => {
  const { connection, path } = openLedger();
  await publish(connection, [usageRecord('a', 1), usageRecord('b', 2)]);
  connection.close();
  const newer = nextVersion('ALTER TABLE workspaces ADD COLUMN note TEXT;');

  const reports = await Promise.all([openInChild(newer, path), openInChild(newer, path)]);

  expect(reports.map(({ applied }) => applied).sort()).toEqual([0, 1]);
  expect(readdirSync(join(path, '..')).filter((name) => name.endsWith('.part'))).toEqual([]);
  const migrated = reports.find(({ applied }) => applied === 1)?.backup ?? '';
  expect(statSync(migrated).mode & 0o777).toBe(0o600);
  const reader = openReader(migrated);
  expect(verifyLedger(reader.connection)).toMatchObject({ faults: [], entries: 2 });
  reader.close();
  expect(viewLedger(path).value('SELECT count(note) FROM workspaces')).toBe(0n);
  expect(() => openReader(path)).toThrow(expect.objectContaining({ code: 'ledger_newer' }));
});

test('the two newest pre-migration copies are kept, and nothing else is removed', async () => {
  const { connection, path } = openLedger();
  connection.close();
  const copies = ['20250101T000000Z-00000001', '20250601T000000Z-00000002'].map((end) => `before-migration-${end}`);
  const others = ['before-migration-20240101T000000Z-00000003.part', 'before-migration-of-mine', 'saved'];
  for (const end of [...copies, ...others]) writeFileSync(`${path}.${end}`, '');

  const { backup } = await openInChild(nextVersion('ALTER TABLE workspaces ADD COLUMN note TEXT;'), path);

  const left = readdirSync(dirname(path)).filter((name) => /ledger\.db\.(before|saved)/.test(name));
  const expected = [copies[1], ...others].map((end) => `${basename(path)}.${end}`);
  expect(left.sort()).toEqual([...expected, basename(backup ?? '')].sort());
});

test("a view added over one of the ledger's views is kept", async () => {
  const { connection, path } = openLedger();
  await publish(connection, [usageRecord('a', 1)]);
  connection.exec('CREATE VIEW of_finance AS SELECT tenant_id, credits_used FROM finance_usage');
  connection.close();

  await openInChild(nextVersion('ALTER TABLE workspaces ADD COLUMN note TEXT;'), path);

  expect(viewLedger(path).value("SELECT credits_used FROM of_finance WHERE tenant_id = 'a'")).toBe(1n);
});

test('a migration that fails changes nothing', async () => {
  const { connection, path } = openLedger();
  await publish(connection, [usageRecord('a', 1)]);
  connection.close();
  const before = viewLedger(path);
  const dump = before.dump();
  const broken = nextVersion(
    'ALTER TABLE workspaces ADD COLUMN note TEXT;\n--> statement-breakpoint\nSELECT * FROM nowhere;',
  );

  const error = await rejection(openInChild(broken, path));

  expect(error.message).toContain('nowhere');
  expect(viewLedger(path).dump()).toBe(dump);
  expect(() => viewLedger(path).value('SELECT note FROM workspaces')).toThrow(/no such column/);
});

test('a migration that cannot be recorded is rolled back', async () => {
  const { connection, path } = openLedger();
  await publish(connection, [usageRecord('a', 1)]);
  connection.exec("CREATE TRIGGER full BEFORE INSERT ON schema_migrations BEGIN SELECT raise(ABORT, 'disk full'); END");
  connection.close();
  const dump = viewLedger(path).dump();

  const error = await rejection(openInChild(nextVersion('ALTER TABLE workspaces ADD COLUMN note TEXT;'), path));

  expect(error.message).toContain('disk full');
  expect(viewLedger(path).dump()).toBe(dump);
  expect(() => viewLedger(path).value('SELECT note FROM workspaces')).toThrow(/no such column/);
});

test('rows that reference a rebuilt table are kept, although they would cascade with its rows', async () => {
  const path = join(temporaryFolder(), 'ledger.db');
  const first = `CREATE TABLE parents (id INTEGER PRIMARY KEY);
    CREATE TABLE children (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parents (id) ON DELETE CASCADE);
    INSERT INTO parents VALUES (1), (2); INSERT INTO children VALUES (10, 1), (20, 2);`;
  const rebuild = `CREATE TABLE new_parents (id INTEGER PRIMARY KEY, note TEXT);
    INSERT INTO new_parents (id) SELECT id FROM parents;
    DROP TABLE parents;
    ALTER TABLE new_parents RENAME TO parents;`;
  await openInChild(nextVersion(first), path);

  await openInChild(nextVersion(first, rebuild), path);

  const connection = new Database(path, { readonly: true });
  onTestFinished(() => void connection.close());
  expect(connection.prepare('SELECT id, parent FROM children').all()).toEqual([
    { id: 10, parent: 1 },
    { id: 20, parent: 2 },
  ]);
  expect(connection.prepare('SELECT id, note FROM parents').all()).toHaveLength(2);
  expect(connection.pragma('foreign_key_check')).toEqual([]);
});

test('a migration that leaves dangling references is rolled back', async () => {
  const { connection, path } = openLedger();
  await publish(connection, [usageRecord('a', 1)]);
  connection.close();
  const broken = nextVersion('DELETE FROM workspaces;');

  const error = await rejection(openInChild(broken, path));

  expect(error.message).toContain('migration_failed');
  expect(viewLedger(path).value('SELECT count(*) FROM workspaces')).toBe(1n);
});

test.each([
  'UPDATE usage_entries SET credits_delta = 2',
  'DELETE FROM usage_entries',
  "UPDATE walks SET verdict = 'moved'",
  'DELETE FROM walks',
  "UPDATE runs SET digest = ''",
  'DELETE FROM runs',
  'UPDATE leases SET fencing_token = 0',
  'UPDATE alert_transitions SET at = 1',
  'DELETE FROM alert_transitions',
  "UPDATE alert_feedback SET label = 'real'",
  'DELETE FROM alert_feedback',
  'DELETE FROM silences',
])('the ledger itself refuses %s', async (statement) => {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('a', 1)]);
  connection.exec(`INSERT INTO alerts (alert_id, rule, rule_version, workspace_key, level, severity, state, last_changed_at,
      revision) VALUES ('a', 'jump', 1, 1, 'settled', 'critical', 'resolved', '', 1);
    INSERT INTO alert_transitions (alert_key, revision, change, state, level, actor, at, silent)
      VALUES (1, 1, 'resolved', 'resolved', 'settled', 'run', '', 0);
    INSERT INTO alert_feedback (alert_key, label, actor, at) VALUES (1, 'false', 'me', '');
    INSERT INTO silences (silence_id, kind, rule, tenant, period, until, reason, created_by, created_at)
      VALUES ('s', 'silence', '*', '*', '*', '', '', '', '')`);

  expect(() => connection.exec(statement)).toThrow(expect.objectContaining({ code: 'SQLITE_CONSTRAINT_TRIGGER' }));
});

/** Opens the ledger for writing in a process of its own, with the program that lies in `root`. */
async function openInChild(root: string, path: string): Promise<{ applied: number; backup: string | null }> {
  const script = `
    import { openThreadedWriter } from ${JSON.stringify(join(root, 'src/writer/threaded-writer.ts'))};
    try {
      const writer = await openThreadedWriter(${JSON.stringify({ path, version: '2.0.0', nowMs: NOON })});
      console.log(JSON.stringify(writer.migration));
      await writer.close();
    } catch (error) {
      console.error(error.code, error.message);
      process.exitCode = 1;
    }`;
  const file = join(temporaryFolder(), 'open.mjs');
  writeFileSync(file, script);
  const { stdout } = await run(process.execPath, [file]);
  return JSON.parse(stdout) as { applied: number; backup: string | null };
}
