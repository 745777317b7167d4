import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { openForWriting, openReader } from '../../../../src/ledger/store/file/open.ts';
import { type RestoreReport, restoreLedger } from '../../../../src/ledger/transfer/backup/restore.ts';
import { nextVersion } from '../../../support/next-version.ts';
import { rejection } from '../../../support/rejection.ts';
import { NOON } from '../../../support/time/test-clock.ts';
import { forkRestore, headOf, prepare, restore } from './restore-setup.ts';

/** Everything in the ledger's folder, with content. */
function folderOf(ledgerPath: string): Record<string, string> {
  const folder = dirname(ledgerPath);
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name)).toString('base64')]),
  );
}

test('a restore replaces the ledger, keeps both the backup and the old ledger, and names each', async () => {
  const { ledgerPath, backup, heads } = await prepare();
  const bytes = readFileSync(backup);

  const report = await restore(backup, ledgerPath);

  const aside = `${ledgerPath}.replaced-20260320T120000Z`;
  expect(report).toEqual({
    runs: 1,
    entries: 3,
    keys: 3,
    headDigest: heads.backup,
    outdated: false,
    replaced: { path: aside, headDigest: heads.ledger },
  });
  expect(readFileSync(backup).equals(bytes)).toBe(true);
  expect(readdirSync(dirname(ledgerPath)).sort()).toEqual(['ledger.db', basename(aside)]);
  expect(statSync(ledgerPath).mode & 0o777).toBe(0o600);
  // The replaced one is whole in its one file.
  expect([...readFileSync(aside).subarray(18, 20)]).toEqual([1, 1]);
  expect(headOf(aside)).toBe(heads.ledger);
  expect(headOf(ledgerPath)).toBe(heads.backup);
});

test('a ledger with a WAL left by a killed process is kept complete', async () => {
  const { ledgerPath, backup, heads } = await prepare();
  const code = `
    const { openForWriting } = await import(${JSON.stringify(new URL('../../../../src/ledger/store/file/open.ts', import.meta.url))});
    const connection = openForWriting(process.argv[1]);
    connection.exec('CREATE TABLE only_in_the_wal (x)');
    process.kill(process.pid, 'SIGKILL');`;
  await once(spawn(process.execPath, ['--input-type=module', '-e', code, ledgerPath]), 'exit');
  expect(statSync(`${ledgerPath}-wal`).size).toBeGreaterThan(0);

  const { replaced } = await restore(backup, ledgerPath);

  expect(readdirSync(dirname(ledgerPath))).toHaveLength(2);
  const aside = new Database(replaced?.path ?? '', { readonly: true });
  expect(aside.prepare('SELECT count(*) FROM only_in_the_wal').pluck().get()).toBe(0);
  aside.close();
  expect(headOf(ledgerPath)).toBe(heads.backup);
});

test('a backup of an older version is restored unchanged and migrated at the next start', async () => {
  const { ledgerPath, backup } = await prepare();
  const next = nextVersion('ALTER TABLE workspaces ADD COLUMN note TEXT;');
  const order = { file: backup, ledgerPath, replaceOther: true, version: '0.0.0', nowMs: NOON };
  const script = `
    import { restoreLedger } from ${JSON.stringify(join(next, 'src/ledger/transfer/backup/restore.ts'))};
    const { runs, outdated } = await restoreLedger({ ...${JSON.stringify(order)}, signal: new AbortController().signal });
    console.log(JSON.stringify({ runs, outdated }));`;

  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);

  expect(JSON.parse(stdout)).toEqual({ runs: 1, outdated: true });
  openReader(ledgerPath).close();
});

const SPOILT: [name: string, spoil: (file: string) => void, code: string, message: RegExp][] = [
  ['truncated', (file) => truncateSync(file, statSync(file).size - 5 * 4096), 'backup_faulty', /malformed/],
  ['empty', (file) => truncateSync(file, 0), 'not_a_backup', /does not contain a ledger/],
  ['no database', (file) => writeFileSync(file, 'text '.repeat(2000)), 'backup_faulty', /not a database/],
  ['another database', (file) => replaceBy(file, 'CREATE TABLE t (x)'), 'not_a_backup', /does not contain a ledger/],
  [
    'changed behind its back',
    (file) => change(file, 'UPDATE tenant_usage SET credits_used = 7'),
    'backup_faulty',
    /invariant: .* has 7 credits/,
  ],
  [
    'of a newer version',
    (file) => change(file, "INSERT INTO schema_migrations VALUES (9e12, 'x', '99.1.0', 'later')"),
    'ledger_newer',
    /99\.1\.0/,
  ],
  ['damaged in a page', damagePage, 'backup_faulty', /malformed/],
  ['missing', (file) => rmSync(file), 'backup_missing', /does not exist/],
  ['a folder', replaceByFolder, 'backup_failed', /cannot restore/],
];

function change(file: string, sql: string): void {
  const connection = new Database(file);
  connection.exec(sql);
  connection.close();
}

function replaceBy(file: string, sql: string): void {
  rmSync(file);
  change(file, sql);
}

function replaceByFolder(file: string): void {
  rmSync(file);
  mkdirSync(file);
}

function damagePage(file: string): void {
  const connection = new Database(file);
  const page = connection.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'usage_entries'").pluck().get();
  connection.close();
  const bytes = readFileSync(file);
  bytes.fill(0xff, (Number(page) - 1) * 4096, Number(page) * 4096);
  writeFileSync(file, bytes);
}

test.each(SPOILT)('a backup that is %s is refused, and the ledger is not touched', async (_, spoil, code, message) => {
  const { ledgerPath, backup } = await prepare();
  spoil(backup);
  const before = folderOf(ledgerPath);

  const error = await rejection(restore(backup, ledgerPath));

  expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
  expect(error.hint).toMatch(/\S/);
  expect(folderOf(ledgerPath)).toEqual(before);
});

test('the ledger itself cannot be restored as a backup', async () => {
  const { ledgerPath } = await prepare();
  expect(await rejection(restore(ledgerPath, ledgerPath))).toMatchObject({ code: 'not_a_backup' });
});

test.each([
  ['writes', 'openForWriting(path)'],
  ['reads', 'openReader(path).connection'],
])('while another process has the ledger open, even idle, and %s, a restore is refused', async (_, open) => {
  const { ledgerPath, backup, heads } = await prepare();
  const code = `
    const { openForWriting, openReader } = await import(${JSON.stringify(new URL('../../../../src/ledger/store/file/open.ts', import.meta.url))});
    const path = process.argv[1];
    // A connection that only a local variable held could be collected, and then nothing would hold the ledger.
    globalThis.connection = ${open};
    console.log(connection.prepare('SELECT count(*) FROM runs').pluck().get());
    process.stdin.resume();`;
  const holder = spawn(process.execPath, ['--input-type=module', '-e', code, ledgerPath]);
  onTestFinished(() => {
    holder.kill('SIGKILL');
  });
  await once(holder.stdout, 'data');

  const error = await rejection(restore(backup, ledgerPath));

  expect(error).toMatchObject({ code: 'ledger_in_use', hint: expect.stringContaining('stop the daemon') });
  expect(readdirSync(dirname(ledgerPath)).sort()).toEqual(['ledger.db', 'ledger.db-shm', 'ledger.db-wal']);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  expect(headOf(ledgerPath)).toBe(heads.ledger);
  expect(await restore(backup, ledgerPath)).toMatchObject({ headDigest: heads.backup });
});

test('a process that opened the ledger before the swap and writes after it is refused, and harms neither file', async () => {
  const { ledgerPath, backup, heads } = await prepare();
  const early = new Database(ledgerPath);
  const { replaced } = await restore(backup, ledgerPath);

  expect(() => {
    early.pragma('journal_mode = WAL');
    early.exec("INSERT INTO ledger_meta (name, value) VALUES ('stray', 'x')");
  }).toThrow(expect.objectContaining({ code: 'SQLITE_READONLY_DBMOVED' }));
  early.close();

  expect(readdirSync(dirname(ledgerPath))).toHaveLength(2);
  expect(headOf(ledgerPath)).toBe(heads.backup);
  expect(headOf(replaced?.path ?? '')).toBe(heads.ledger);
});

test('an unreadable ledger is kept unchanged and replaced', async () => {
  const { ledgerPath, backup, heads } = await prepare();
  writeFileSync(ledgerPath, 'ruined '.repeat(3000));
  const { replaced } = await restore(backup, ledgerPath);
  expect(replaced?.headDigest).toBeNull();
  expect(readFileSync(replaced?.path ?? '', 'utf8')).toMatch(/^ruined ruined/);
  expect(headOf(ledgerPath)).toBe(heads.backup);
});

test('a missing ledger, with its folder missing too, is restored', async () => {
  const { ledgerPath, backup, heads } = await prepare();
  rmSync(dirname(ledgerPath), { recursive: true });
  expect(await restore(backup, ledgerPath)).toMatchObject({ replaced: null, headDigest: heads.backup });
  expect(headOf(ledgerPath)).toBe(heads.backup);
  expect(statSync(dirname(ledgerPath)).mode & 0o777).toBe(0o700);
});

test('a log left by a lost ledger is moved aside, and not applied to the new one', async () => {
  const { ledgerPath, backup, heads } = await prepare();
  const connection = openForWriting(ledgerPath);
  connection.exec('CREATE TABLE stray (x)');
  copyFileSync(`${ledgerPath}-wal`, `${ledgerPath}.saved`);
  connection.close();
  rmSync(ledgerPath);
  renameSync(`${ledgerPath}.saved`, `${ledgerPath}-wal`);

  await restore(backup, ledgerPath);

  expect(existsSync(`${ledgerPath}-wal`)).toBe(false);
  expect(existsSync(`${ledgerPath}.replaced-20260320T120000Z-wal`)).toBe(true);
  expect(headOf(ledgerPath)).toBe(heads.backup);
});

test('on a file system without hard links the replaced ledger is copied', async () => {
  const { ledgerPath, backup, heads } = await prepare();
  const child = forkRestore(backup, ledgerPath, 'no-links');
  const reports: { report?: RestoreReport }[] = [];
  child.on('message', (message) => reports.push(message as { report?: RestoreReport }));
  expect((await once(child, 'exit'))[0]).toBe(0);
  const replaced = reports.at(-1)?.report?.replaced;
  expect(replaced?.headDigest).toBe(heads.ledger);
  expect(headOf(replaced?.path ?? '')).toBe(heads.ledger);
  expect(statSync(replaced?.path ?? '').mode & 0o777).toBe(0o600);
  expect(headOf(ledgerPath)).toBe(heads.backup);
});

test('a stop before the swap leaves the ledger unchanged', async () => {
  const { ledgerPath, backup } = await prepare();
  const before = folderOf(ledgerPath);
  const stop = new AbortController();
  const restored = restoreLedger({ file: backup, ledgerPath, version: '0', nowMs: NOON, signal: stop.signal });
  const error = rejection(restored);
  stop.abort(new Error('stopped'));
  expect((await error).message).toBe('stopped');
  expect(folderOf(ledgerPath)).toEqual(before);
});
