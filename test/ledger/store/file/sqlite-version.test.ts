import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, expect, test, vi } from 'vitest';
import { openForWriting, openReader } from '../../../../src/ledger/store/file/open.ts';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import { openLedger } from '../../../support/open-ledger.ts';
import { rejection } from '../../../support/rejection.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const library = { version: '3.51.3' };

/** Every connection that this file opens says so. */
beforeAll(() => {
  const { prepare } = Database.prototype;
  const spy = vi.spyOn(Database.prototype, 'prepare').mockImplementation(function lying(this: LedgerDb, sql) {
    return prepare.call(this, sql.replace('sqlite_version()', `'${library.version}'`));
  });
  return () => spy.mockRestore();
});

test.each(['3.51.2', '3.9.9', '2.99.99'])('SQLite %s opens no ledger, for reading or writing', async (version) => {
  library.version = '3.51.3';
  const { path } = openLedger();
  library.version = version;
  const opens = [() => openReader(path), () => openForWriting(join(temporaryFolder(), 'ledger.db'))];
  for (const open of opens) {
    expect(await rejection((async () => void open())())).toMatchObject({
      ...{ code: 'sqlite_too_old', message: `SQLite ${version} can corrupt a ledger in WAL mode` },
      hint: expect.stringContaining('3.51.3 or newer'),
    });
  }
});

test.each(['3.51.3', '3.51.10', '3.52.0', '4.0.0'])('SQLite %s does', (version) => {
  library.version = version;
  const { path } = openLedger();
  openReader(path).close();
});
