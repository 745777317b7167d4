import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { openForWriting, openReader } from '../../../../src/ledger/store/file/open.ts';
import { migrateLedger } from '../../../../src/ledger/store/schema/migrate.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const JOURNAL = 'drizzle/meta/_journal.json';
const FIXTURE = join(ROOT, 'test/fixtures/ledger-0.1.0-draft.sql');
const KILLS = 20;
/** More than a child gets through before it is killed. */
const COPIES = 15;
const LONGEST_MS = 60;

test(`a migration killed at any moment leaves the old ledger or the new one, and is finished by the next start (${KILLS} kills)`, async () => {
  const folder = temporaryFolder();
  const original = oldLedger(folder);
  let interrupted = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const paths = Array.from({ length: COPIES }, (_, copy) => join(folder, `${kill}-${copy}.db`));
    for (const path of paths) copyFileSync(original, path);
    const { begun, ended } = await migrateUntilKilled(paths, (kill / KILLS) * LONGEST_MS);
    if (begun > ended) interrupted += 1;
    const touched = paths.slice(Math.max(0, begun - 3), begun);
    for (const path of touched) assertOldOrNew(path);
  }
  expect(interrupted).toBeGreaterThan(KILLS / 4);
}, 120_000);

test('rows that hang on a table which a migration rebuilds are kept, although they would go with its rows', async () => {
  const path = join(temporaryFolder(), 'ledger.db');
  const first = `CREATE TABLE parents (id INTEGER PRIMARY KEY);
    CREATE TABLE children (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parents (id) ON DELETE CASCADE);
    INSERT INTO parents VALUES (1), (2); INSERT INTO children VALUES (10, 1), (20, 2);`;
  const rebuild = `CREATE TABLE new_parents (id INTEGER PRIMARY KEY, note TEXT);
    INSERT INTO new_parents (id) SELECT id FROM parents;
    DROP TABLE parents;
    ALTER TABLE new_parents RENAME TO parents;`;
  await migrateWith(nextVersion([first]), path);

  await migrateWith(nextVersion([first, rebuild]), path);

  const connection = new Database(path, { readonly: true });
  onTestFinished(() => void connection.close());
  expect(connection.prepare('SELECT id, parent FROM children').all()).toEqual([
    { id: 10, parent: 1 },
    { id: 20, parent: 2 },
  ]);
  expect(connection.prepare('SELECT id, note FROM parents').all()).toHaveLength(2);
  expect(connection.pragma('foreign_key_check')).toEqual([]);
});

/** A closed ledger of the schema before the last migration, one file. */
function oldLedger(folder: string): string {
  const path = join(folder, 'old.db');
  const connection = openForWriting(path);
  connection.pragma('foreign_keys = OFF');
  connection.exec(readFileSync(FIXTURE, 'utf8'));
  connection.close();
  return path;
}

/** Migrates one ledger after the other in a process of its own, which is killed `afterMs` after it has begun. */
async function migrateUntilKilled(paths: string[], afterMs: number): Promise<{ begun: number; ended: number }> {
  const script = `
    import { writeSync } from 'node:fs';
    import { migrateLedger } from ${JSON.stringify(join(ROOT, 'build/ledger/store/schema/migrate.js'))};
    import { openForWriting } from ${JSON.stringify(join(ROOT, 'build/ledger/store/file/open.js'))};
    for (const path of ${JSON.stringify(paths)}) {
      writeSync(1, 'begun\\n');
      const connection = openForWriting(path);
      migrateLedger(connection, path, '2.0.0', ${NOON});
      connection.close();
      writeSync(1, 'ended\\n');
    }
    setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const closed = once(child, 'close');
  await once(child.stdout, 'data');
  await sleep(afterMs);
  child.kill('SIGKILL');
  await closed;
  const count = (word: string): number => said.split(word).length - 1;
  return { begun: count('begun'), ended: count('ended') };
}

function assertOldOrNew(path: string): void {
  let isOld = false;
  try {
    openReader(path).close();
  } catch (error) {
    expect(error).toMatchObject({ code: 'ledger_outdated' });
    isOld = true;
  }
  const connection = openForWriting(path);
  try {
    const { applied } = migrateLedger(connection, path, '2.0.0', NOON);
    expect(applied > 0).toBe(isOld);
    expect(verifyLedger(connection)).toMatchObject({ faults: [], runs: 22, entries: 54, keys: 37 });
  } finally {
    connection.close();
  }
}

/** This program with more migrations, in a folder of its own. */
function nextVersion(migrations: readonly string[]): string {
  const folder = temporaryFolder();
  for (const part of ['build', 'drizzle']) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
  const journal = JSON.parse(readFileSync(join(ROOT, JOURNAL), 'utf8')) as {
    entries: { idx: number; version: string; when: number; tag: string; breakpoints: boolean }[];
  };
  const last = Math.max(...journal.entries.map(({ when }) => when));
  for (const [index, sql] of migrations.entries()) {
    const tag = `999${index}_next`;
    journal.entries.push({ idx: journal.entries.length, version: '6', when: last + index + 1, tag, breakpoints: true });
    writeFileSync(join(folder, `drizzle/${tag}.sql`), sql);
  }
  writeFileSync(join(folder, JOURNAL), JSON.stringify(journal));
  return folder;
}

/** Creates or migrates the ledger at `path` by the program in `root`. */
async function migrateWith(root: string, path: string): Promise<void> {
  const script = `
    import { migrateLedger } from ${JSON.stringify(join(root, 'build/ledger/store/schema/migrate.js'))};
    import { openForWriting } from ${JSON.stringify(join(root, 'build/ledger/store/file/open.js'))};
    const connection = openForWriting(${JSON.stringify(path)});
    migrateLedger(connection, ${JSON.stringify(path)}, '2.0.0', ${NOON});
    connection.close();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  expect([code, readdirSync(join(path, '..')).filter((name) => name.endsWith('.part'))]).toEqual([0, []]);
}
