import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { openForWriting, openReader } from '../../../../src/ledger/store/file/open.ts';
import { nextVersion } from '../../../support/next-version.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { NOON } from '../../../support/time/test-clock.ts';

/** Enough work that a kill comes in the middle of it; the schema is the same afterwards. */
const NEXT = `UPDATE usage_entries_copy SET credits_delta = credits_delta + 1;
DROP TABLE usage_entries_copy;`;
const KILLS = 8;
/** More than a child gets through before it is killed. */
const COPIES = 15;
const LONGEST_MS = 60;

test(`a migration killed at any moment leaves the old ledger or the new one, and is finished by the next start (${KILLS} kills)`, async () => {
  const folder = temporaryFolder();
  const original = await oldLedger(folder);
  const next = nextVersion(NEXT);
  let interrupted = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const paths = Array.from({ length: COPIES }, (_, copy) => join(folder, `${kill}-${copy}.db`));
    for (const path of paths) copyFileSync(original, path);
    const { begun, ended } = await migrateUntilKilled(next, paths, (kill / KILLS) * LONGEST_MS);
    if (begun > ended) interrupted += 1;
    const touched = paths.slice(Math.max(0, begun - 3), begun);
    for (const path of touched) assertOldOrNew(path);
    for (const path of touched.slice(-1)) await assertFinished(next, path);
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
  await migrateWith(nextVersion(first), path);

  await migrateWith(nextVersion(first, rebuild), path);

  const connection = new Database(path, { readonly: true });
  onTestFinished(() => void connection.close());
  expect(connection.prepare('SELECT id, parent FROM children').all()).toEqual([
    { id: 10, parent: 1 },
    { id: 20, parent: 2 },
  ]);
  expect(connection.prepare('SELECT id, note FROM parents').all()).toHaveLength(2);
  expect(connection.pragma('foreign_key_check')).toEqual([]);
});

/** A ledger of this version with a table that the next one removes; one file. */
async function oldLedger(folder: string): Promise<string> {
  const { connection, path } = openLedger(join(folder, 'old.db'));
  await publish(connection, [usageRecord('a', 1), usageRecord('b', 2)]);
  await publish(connection, [usageRecord('a', 3), usageRecord('b', 2)]);
  connection.exec(`CREATE TABLE usage_entries_copy AS SELECT e.* FROM usage_entries e,
    (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT i FROM n)`);
  connection.close();
  return path;
}

/** Migrates one ledger after the other by the program in `root`, in a process that is killed `afterMs` after it has begun. */
async function migrateUntilKilled(
  root: string,
  paths: string[],
  afterMs: number,
): Promise<{ begun: number; ended: number }> {
  const script = `
    import { writeSync } from 'node:fs';
    import { migrateLedger } from ${JSON.stringify(join(root, 'build/ledger/store/schema/migrate.js'))};
    import { openForWriting } from ${JSON.stringify(join(root, 'build/ledger/store/file/open.js'))};
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
  let isNew = false;
  try {
    openReader(path).close();
  } catch (error) {
    expect(error).toMatchObject({ code: 'ledger_newer' });
    isNew = true;
  }
  const reader = new Database(path, { readonly: true });
  try {
    const copies = reader.prepare("SELECT count(*) FROM sqlite_schema WHERE name = 'usage_entries_copy'").pluck().get();
    expect(copies).toBe(isNew ? 0 : 1);
    expect(reader.pragma('integrity_check', { simple: true })).toBe('ok');
  } finally {
    reader.close();
  }
}

async function assertFinished(root: string, path: string): Promise<void> {
  await migrateWith(root, path);
  const connection = openForWriting(path);
  try {
    expect(connection.prepare('SELECT count(*) FROM schema_migrations').pluck().get()).toBe(2);
    expect(verifyLedger(connection)).toMatchObject({ faults: [], runs: 2, entries: 3, keys: 2 });
  } finally {
    connection.close();
  }
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
  expect(code).toBe(0);
}
