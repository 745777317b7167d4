import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { openForWriting } from '../../src/ledger/store/file/open.ts';
import { migrateLedger } from '../../src/ledger/store/schema/migrate.ts';
import { NOON } from './time/test-clock.ts';

/** What an operator may have done to the place of the ledger that no restart mends. */
export interface LedgerMistake {
  name: string;
  /** Makes it where there is nothing yet. */
  make(ledgerPath: string): void;
  told: RegExp;
}

export const LEDGER_MISTAKES: readonly LedgerMistake[] = [
  {
    name: 'its folder may be written by everybody',
    make: (path) => {
      mkdirSync(dirname(path));
      chmodSync(dirname(path), 0o777);
    },
    told: /the ledger's folder \S+ is writable by every user of this machine/,
  },
  {
    name: 'its folder is a link',
    make: (path) => {
      mkdirSync(`${dirname(path)}-elsewhere`, { mode: 0o700 });
      symlinkSync(`${dirname(path)}-elsewhere`, dirname(path));
    },
    told: /the ledger's folder \S+ is a link/,
  },
  {
    name: 'it may be written by everybody',
    make: (path) => {
      makeLedger(path);
      chmodSync(path, 0o666);
    },
    told: /the ledger \S+ is writable by every user of this machine/,
  },
  {
    name: 'it is a folder',
    make: (path) => void mkdirSync(path, { recursive: true, mode: 0o700 }),
    told: /ledger\.db is a folder: the ledger must be a file/,
  },
  {
    name: 'it is no database',
    make: (path) => {
      mkdirSync(dirname(path), { mode: 0o700 });
      writeFileSync(path, 'garbage '.repeat(1000), { mode: 0o600 });
    },
    told: /file is not a database/,
  },
  {
    name: 'it is of a newer version',
    make: (path) => makeLedger(path, "INSERT INTO schema_migrations VALUES (9e12, 'x', '99.1.0', 'later')"),
    told: /written by usage-ledger 99\.1\.0, which is newer/,
  },
  {
    name: 'it is from before the first release',
    make: (path) => makeLedger(path, 'UPDATE schema_migrations SET created_at = 1'),
    told: /pre-release version of usage-ledger/,
  },
  {
    name: 'it is a database of another program',
    make: (path) => {
      mkdirSync(dirname(path), { mode: 0o700 });
      const other = new Database(path);
      other.exec('CREATE TABLE customers (id INTEGER PRIMARY KEY)');
      other.close();
      chmodSync(path, 0o600);
    },
    told: /is a SQLite database of another program/,
  },
];

function makeLedger(path: string, ...changes: string[]): void {
  const connection = openForWriting(path);
  migrateLedger(connection, path, '0.1.0', NOON);
  for (const change of changes) connection.exec(change);
  connection.close();
}
