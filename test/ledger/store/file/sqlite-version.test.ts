import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { openForWriting, openReader } from '../../../../src/ledger/store/file/open.ts';
import { openLedger } from '../../../support/open-ledger.ts';
import { rejection } from '../../../support/rejection.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const library = vi.hoisted(() => ({ version: '3.51.3' }));

vi.mock('better-sqlite3', async (importOriginal) => {
  const { default: Database } = await importOriginal<{ default: typeof import('better-sqlite3') }>();
  // Called by `new`, as the class is.
  function connect(...args: ConstructorParameters<typeof Database>) {
    return new Database(...args).function('sqlite_version', () => library.version);
  }
  return { default: Object.assign(connect, { SqliteError: Database.SqliteError }) };
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
