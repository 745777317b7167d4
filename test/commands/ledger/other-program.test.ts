import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { createWorld, FIRST, type World } from '../world.ts';

// cspell:ignore uled

const COMMANDS = [
  'sync',
  'sync --json',
  'sync --dry-run',
  'status',
  'usage',
  'alerts',
  'verify',
  'migrate',
  'daemon',
  'close 2026-01',
  'rates list',
  'export finance_usage',
];

/** Puts a database of another program where the ledger is to be. */
function occupy({ ledgerPath }: World, journal: 'wal' | 'delete', ...statements: string[]): void {
  mkdirSync(dirname(ledgerPath), { mode: 0o700 });
  writeFileSync(ledgerPath, '', { mode: 0o640 });
  const other = new Database(ledgerPath);
  other.pragma(`journal_mode = ${journal}`);
  for (const statement of statements) other.exec(statement);
  other.close();
}

/** The bytes of every file in the ledger's folder but for the log that a reader of a database in WAL mode needs. */
function contents({ ledgerPath }: World): Record<string, string> {
  const folder = dirname(ledgerPath);
  const files = readdirSync(folder).filter((name) => !/-(wal|shm)$/.test(name));
  return Object.fromEntries(
    files.map((name) => {
      const file = join(folder, name);
      return [name, `${statSync(file).mode.toString(8)} ${readFileSync(file, 'base64')}`];
    }),
  );
}

test.each([
  ['has tables', 'delete', ['CREATE TABLE customers (id INTEGER PRIMARY KEY); INSERT INTO customers VALUES (1)']],
  ['keeps a log', 'wal', ['CREATE TABLE customers (id INTEGER PRIMARY KEY)']],
  ['has migrations of its own', 'delete', ['CREATE TABLE schema_migrations (version TEXT PRIMARY KEY)']],
  ['has only a number of its own', 'delete', ['PRAGMA application_id = 1196444487', 'VACUUM']],
] as const)(
  "another program's database that %s is refused by every command, which leaves it as it is",
  {
    timeout: 90_000,
  },
  async (_, journal, statements) => {
    const world = await createWorld(FIRST);
    occupy(world, journal, ...statements);
    const before = contents(world);
    const backup = await backupOfAnother();

    for (const command of [...COMMANDS, `restore ${backup}`]) {
      const { code, out, err } = await world.run(...command.split(' '));
      expect({ command, code, said: out + err }).toEqual({
        command,
        code: 2,
        said: expect.stringContaining('is a SQLite database of another program'),
      });
    }
    const { code, out } = await world.run('doctor');
    expect(code).toBe(4);
    expect(out).toMatch(/^FAIL {2}ledger: .* is a SQLite database of another program/m);
    expect(contents(world)).toEqual(before);
  },
);

test('a ledger, its backup and its copies say in their header that they are one', async () => {
  const world = await createWorld(FIRST);
  await world.run('sync');
  const copy = join(world.folder, 'copy.db');
  await world.run('backup', copy);
  for (const file of [world.ledgerPath, copy]) {
    // https://www.sqlite.org/fileformat2.html: the application id stands at offset 68.
    expect(readFileSync(file).toString('latin1', 68, 72)).toBe('uled');
  }
});

async function backupOfAnother(): Promise<string> {
  const other = await createWorld(FIRST);
  await other.run('sync');
  const file = join(other.folder, 'backup.db');
  expect((await other.run('backup', file)).code).toBe(0);
  return file;
}
