import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { toLedgerError } from '../../../../src/ledger/store/file/sqlite-errors.ts';

test.each([
  ['SQLITE_FULL', 'ledger_disk', /free space/],
  // What SQLite says when the disk has no room for the -shm file.
  ['SQLITE_IOERR_SHMSIZE', 'ledger_disk', /free space.*-shm/],
  ['SQLITE_IOERR_READ', 'ledger_io', /dmesg/],
  ['SQLITE_IOERR_WRITE', 'ledger_io', /quota/],
  ['SQLITE_READONLY_DBMOVED', 'ledger_replaced', /restart/],
  ['SQLITE_READONLY_DIRECTORY', 'ledger_unwritable', /write permission/],
  ['SQLITE_CORRUPT_VTAB', 'ledger_corrupt', /restore the ledger/],
  ['SQLITE_BUSY_SNAPSHOT', 'ledger_busy', /retried/],
])('%s becomes %s, with a remedy', (sqliteCode, code, hint) => {
  const error = new Database.SqliteError('what SQLite says', sqliteCode);
  expect(toLedgerError(error)).toMatchObject({ code, message: 'what SQLite says', cause: error });
  expect(toLedgerError(error)?.hint).toMatch(hint);
});

test('an error from elsewhere than SQLite is not converted', () => {
  expect(toLedgerError(new Error('no'))).toBeNull();
  expect(toLedgerError(Object.assign(new Error('no'), { code: 'ENOSPC' }))).toBeNull();
});
