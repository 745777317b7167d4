import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { backupLedger } from '../../../../src/ledger/transfer/backup/backup.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { rejection } from '../../../support/rejection.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const never = new AbortController().signal;

/** A ledger with one applied run, and a folder for its backups. */
async function ledgerWithRun() {
  const { path, connection } = openLedger();
  await publish(connection, [usageRecord('a', 100), usageRecord('b', 9007199254740993n)]);
  const folder = temporaryFolder();
  const target = join(folder, 'copy.db');
  return { path, connection, folder, target };
}

test("a backup includes the WAL's content, has mode 0600 and reports its content", async () => {
  const { path, target, connection } = await ledgerWithRun();
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
  const head = connection.prepare('SELECT digest FROM runs').pluck().get();

  const report = await backupLedger({ ledgerPath: path, target, signal: never });

  expect(report).toEqual({
    path: target,
    sizeBytes: statSync(target).size,
    runs: 1,
    entries: 2,
    keys: 2,
    headDigest: head,
  });
  expect(statSync(target).mode & 0o777).toBe(0o600);
});

test('a backup is one file that opens where nothing can be written', async () => {
  const { path, folder, target } = await ledgerWithRun();
  await backupLedger({ ledgerPath: path, target, signal: never });
  expect(readdirSync(folder)).toEqual(['copy.db']);
  // Bytes 18 and 19 are 1 for a rollback journal; 2 would be WAL, which needs a -shm beside the file even for reading.
  expect([...readFileSync(target).subarray(18, 20)]).toEqual([1, 1]);
  chmodSync(target, 0o400);
  chmodSync(folder, 0o500);

  const copy = new Database(target, { readonly: true });
  expect(copy.prepare('SELECT count(*) FROM finance_usage').pluck().get()).toBe(2);
  expect(readdirSync(folder)).toEqual(['copy.db']);
  copy.close();
  chmodSync(folder, 0o700);
});

test('a file that appears while the backup is made is kept', async () => {
  const { path, folder, target } = await ledgerWithRun();
  const backup = backupLedger({ ledgerPath: path, target, signal: never });
  writeFileSync(target, 'mine');
  expect(await rejection(backup)).toMatchObject({ code: 'backup_exists' });
  expect(readFileSync(target, 'utf8')).toBe('mine');
  expect(readdirSync(folder)).toEqual(['copy.db']);
});

test('the ledger and its sidecar files are never the target, by any name', async () => {
  const { path, folder } = await ledgerWithRun();
  const linked = join(folder, 'linked');
  symlinkSync(dirname(path), linked);
  for (const target of [path, `${path}-wal`, join(linked, 'ledger.db'), join(linked, 'ledger.db-shm')]) {
    const error = await rejection(backupLedger({ ledgerPath: path, target, force: true, signal: never }));
    expect(error, target).toMatchObject({ code: 'bad_backup_target' });
  }
});

test('a folder at the target path, and a log next to it, are refused even with force', async () => {
  const { path, folder, target } = await ledgerWithRun();
  mkdirSync(target);
  const order = { ledgerPath: path, force: true, signal: never };
  expect(await rejection(backupLedger({ ...order, target }))).toMatchObject({ code: 'bad_backup_target' });
  writeFileSync(join(folder, 'used.db-wal'), '');
  const used = join(folder, 'used.db');
  expect(await rejection(backupLedger({ ...order, target: used }))).toMatchObject({ code: 'bad_backup_target' });
});

test('a ledger changed by another program fails the backup, which names the fault and leaves no file', async () => {
  const { path, connection, folder, target } = await ledgerWithRun();
  connection.exec('UPDATE tenant_usage SET credits_used = credits_used + 1 WHERE credits_used = 100');
  const error = await rejection(backupLedger({ ledgerPath: path, target, signal: never }));
  expect(error).toMatchObject({ code: 'backup_faulty', message: expect.stringMatching(/invariant: .*tenant "a"/) });
  expect(readdirSync(folder)).toEqual([]);
});

test('a ledger with a damaged page fails the backup, which leaves no file', async () => {
  const { path, connection, folder, target } = await ledgerWithRun();
  const page = connection.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'usage_entries'").pluck().get();
  connection.pragma('wal_checkpoint(TRUNCATE)');
  connection.close();
  const bytes = readFileSync(path);
  bytes.fill(0xff, (Number(page) - 1) * 4096, Number(page) * 4096);
  writeFileSync(path, bytes);
  const error = await rejection(backupLedger({ ledgerPath: path, target, signal: never }));
  expect(error).toMatchObject({ code: 'backup_faulty', message: expect.stringContaining('malformed') });
  expect(error.hint).toContain('verify');
  expect(readdirSync(folder)).toEqual([]);
});

test('a truncated ledger fails the backup, which leaves no file', async () => {
  const { path, connection, folder, target } = await ledgerWithRun();
  connection.pragma('wal_checkpoint(TRUNCATE)');
  connection.close();
  truncateSync(path, statSync(path).size - 3 * 4096);
  const error = await rejection(backupLedger({ ledgerPath: path, target, signal: never }));
  expect(error).toMatchObject({ code: 'ledger_unreadable', message: expect.stringContaining('malformed') });
  expect(readdirSync(folder)).toEqual([]);
});

test('a stop before or during the check leaves no file', async () => {
  const { path, folder, target } = await ledgerWithRun();
  const stopped = new Error('stopped');
  for (const turns of [0, 1, 2, 3, 4]) {
    const stop = new AbortController();
    const backup = rejection(backupLedger({ ledgerPath: path, target, signal: stop.signal }));
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    stop.abort(stopped);
    expect(await backup, `${turns} turns`).toBe(stopped);
    expect(readdirSync(folder)).toEqual([]);
  }
});
