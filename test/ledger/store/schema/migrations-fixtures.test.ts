import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { describe, expect, onTestFinished, test } from 'vitest';
import { periodBounds } from '../../../../src/core/period.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { type LedgerConnection, openForWriting, openReader } from '../../../../src/ledger/store/file/open.ts';
import { migrateLedger } from '../../../../src/ledger/store/schema/migrate.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { rejection } from '../../../support/rejection.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const FIXTURES = join(ROOT, 'test/fixtures');
const MIGRATIONS = readMigrationFiles({ migrationsFolder: join(ROOT, 'drizzle') });

/** What the migrations make: not the views, which are made anew each time, nor SQLite's own. */
const STORED = "type <> 'view' AND name <> 'schema_migrations' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";

type Row = Record<string, unknown>;
type Views = Map<string, Row[]>;

/**
 * The ledgers that released versions left, dumped as SQL: `ledger-<version>.sql`. The draft is of before the migrations of
 * 0.1.0 were folded into one: its schema is that of the first migration, its journal another.
 */
const fixtures = readdirSync(FIXTURES).flatMap((file) => {
  const version = /^ledger-(.+)\.sql$/.exec(file)?.[1];
  return version === undefined ? [] : [{ version, file: join(FIXTURES, file) }];
});

describe.each(fixtures)('a ledger of version $version', ({ file, version }) => {
  test('says the same after its migration in every column that it had, and has no fault', () => {
    const { connection, path } = loadFixture(file);
    const before = readViews(connection);
    expect([...before.values()].filter((rows) => rows.length > 0).length).toBeGreaterThan(5);

    const { applied } = migrateLedger(connection, path, '99.0.0', NOON);

    expect(applied).toBe(MIGRATIONS.length - migrationsOf(file));
    expect(applied).toBeGreaterThan(0);
    const after = readViews(connection);
    // The service's own bounds were kept once; everything goes by the calendar month now.
    const withMonths = (rows: Row[]) =>
      rows.map((row) => {
        if (!('period_end' in row)) return row;
        const { start, end } = periodBounds(String(row.period));
        return { ...row, period_start: start, period_end: end };
      });
    // Who stopped had no row among the changes of a month.
    const keyOf = ({ workspace_id, period, tenant_id }: Row) => JSON.stringify([workspace_id, period, tenant_id]);
    const used = new Set(after.get('finance_usage')?.map(keyOf));
    const changes = after.get('finance_period_changes')?.filter((row) => used.has(keyOf(row))) ?? [];
    after.set('finance_period_changes', changes);
    // How sure an alert is was called its stage, and how often it was told again its level.
    const levels: Record<string, string> = { pace: 'likely', certain: 'happened', final: 'settled' };
    const alerts = before.get('finance_alerts') ?? [];
    const renamed = alerts.map(({ stage, level, ...row }) => ({
      ...row,
      level: levels[String(stage)],
      told_times: level,
    }));
    before.set('finance_alerts', renamed);
    for (const [view, rows] of before) {
      expect([view, pickColumns(after.get(view), rows)]).toEqual([view, withMonths(rows)]);
    }
    expect(verifyLedger(connection).faults).toEqual([]);
    expect(connection.pragma('foreign_key_check')).toEqual([]);
    expect(connection.pragma('foreign_keys', { simple: true })).toBe(1);
  });

  test('is copied beside itself first: the copy is the old ledger, whole', () => {
    const { connection, path } = loadFixture(file);
    const before = { views: readViews(connection), schema: schemaOf(connection), dump: allRows(connection) };

    const { backup } = migrateLedger(connection, path, '99.0.0', NOON);

    expect(readdirSync(dirname(path)).filter((name) => name.includes('before-migration'))).toEqual([
      basename(backup ?? ''),
    ]);
    const copy = new Database(backup ?? '', { readonly: true });
    onTestFinished(() => void copy.close());
    expect({ views: readViews(copy), schema: schemaOf(copy), dump: allRows(copy) }).toEqual(before);
    expect(() => openReader(backup ?? '')).toThrow(expect.objectContaining({ code: 'ledger_outdated' }));
  });

  test('leaves the two newest copies of before migrations, and nothing else is removed', () => {
    const { connection, path } = loadFixture(file);
    const copies = ['20250101T000000Z-00000001', '20250601T000000Z-00000002'].map((end) => `before-migration-${end}`);
    const others = ['before-migration-20240101T000000Z-00000003.part', 'before-migration-of-mine', 'saved'];
    for (const end of [...copies, ...others]) writeFileSync(`${path}.${end}`, '');
    const { backup } = migrateLedger(connection, path, '99.0.0', NOON);
    const left = readdirSync(dirname(path)).filter((name) => /ledger\.db\.(before|saved)/.test(name));
    const expected = [copies[1], ...others].map((end) => `${basename(path)}.${end}`);
    expect(left.sort()).toEqual([...expected, basename(backup ?? '')].sort());
  });

  test('goes on where it was: the next run continues its chain', async () => {
    const { connection, path } = loadFixture(file);
    migrateLedger(connection, path, '99.0.0', NOON);
    const before = verifyLedger(connection);
    const workspaceId = String(connection.prepare('SELECT workspace_id FROM workspaces').pluck().get());
    const nowMs = Date.UTC(2027, 0, 5);

    const { entries, digest } = await publish(connection, [usageRecord('newcomer', 7, '2027-01')], {
      workspaceId,
      nowMs,
    });

    expect(entries).toBe(1);
    const previous = connection.prepare('SELECT previous_digest FROM runs WHERE digest = ?').pluck().get(digest);
    expect(previous).toBe(before.headDigest);
    expect(verifyLedger(connection)).toMatchObject({
      faults: [],
      runs: before.runs + 1,
      entries: before.entries + 1,
      headDigest: digest,
    });
  });

  test('was made by migrations that nobody has changed since', () => {
    const { connection } = loadFixture(file);
    const made = new Database(':memory:');
    onTestFinished(() => void made.close());
    const count = migrationsOf(file);
    expect(count).toBeGreaterThan(0);
    for (const { sql } of MIGRATIONS.slice(0, count)) for (const statement of sql) made.exec(statement);

    expect(schemaOf(connection, STORED)).toEqual(schemaOf(made, STORED));
    if (version.includes('draft')) return;
    const known = MIGRATIONS.map(({ folderMillis, hash }) => ({ folderMillis, hash }));
    expect(known.slice(0, count)).toEqual(appliedIn(file));
  });

  test('has after its migration the schema of a new ledger, word by word', () => {
    const { connection, path } = loadFixture(file);
    migrateLedger(connection, path, '99.0.0', NOON);

    expect(schemaOf(connection)).toEqual(schemaOf(openLedger().connection));
  });

  test('keeps a view that somebody has added over one of ours', () => {
    const { connection, path } = loadFixture(file);
    connection.exec('CREATE VIEW of_finance AS SELECT tenant_id, credits_used FROM finance_usage');
    const before = connection.prepare('SELECT * FROM of_finance').safeIntegers().all();
    expect(before.length).toBeGreaterThan(0);

    migrateLedger(connection, path, '99.0.0', NOON);

    expect(connection.prepare('SELECT * FROM of_finance').safeIntegers().all()).toEqual(before);
  });

  test('is refused by a program of its time once it has been migrated, and the error names the version to install', async () => {
    const { connection, path } = loadFixture(file);
    migrateLedger(connection, path, '99.0.0', NOON);
    connection
      .prepare('INSERT INTO schema_migrations VALUES (?, ?, ?, ?)')
      .run(Number.MAX_SAFE_INTEGER, 'x', '99.1.0', 'later');
    const error = await rejection(Promise.resolve().then(() => openReader(path)));
    expect(error).toMatchObject({ code: 'ledger_newer', hint: 'install usage-ledger 99.1.0 or later' });
  });
});

describe('the list of fixtures', () => {
  test('holds a ledger of every version that was released before this one', () => {
    const changelog = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const versions = fixtures.map((fixture) => fixture.version);
    expect(releasesWithout([...versions, version], changelog)).toEqual([]);
  });

  test('is found wanting when a version is released without one', () => {
    const changelog = '# Changelog\n\n## 0.3.0 (unreleased)\n\n- x\n\n## 0.2.0 (2027-01-01)\n\n## 0.1.0\n';
    expect(releasesWithout(['0.1.0'], changelog)).toEqual(['0.2.0']);
    expect(releasesWithout(['0.1.0', '0.2.0'], changelog)).toEqual([]);
  });
});

/**
 * A version is released when its heading in the changelog does not say `(unreleased)`. Each but the latest has a fixture, also when
 * its schema is that of the one before: what it wrote may differ.
 */
function releasesWithout(versions: readonly string[], changelog: string): string[] {
  const headings = changelog.matchAll(/^## (\d+\.\d+\.\d+)(.*)$/gm);
  const released = [...headings].filter(([, , rest]) => !rest?.includes('unreleased')).map(([, version]) => version);
  return released.filter((version) => version !== undefined && !versions.includes(version)) as string[];
}

/** A ledger file with what the fixture says. */
function loadFixture(file: string): { connection: LedgerConnection; path: string } {
  const path = join(temporaryFolder(), 'ledger.db');
  const connection = openForWriting(path);
  onTestFinished(() => void connection.close());
  connection.pragma('foreign_keys = OFF');
  connection.exec(readFileSync(file, 'utf8'));
  connection.pragma('foreign_keys = ON');
  return { connection, path };
}

function appliedIn(file: string): { folderMillis: number; hash: string }[] {
  const connection = new Database(':memory:');
  try {
    connection.pragma('foreign_keys = OFF');
    connection.exec(readFileSync(file, 'utf8'));
    return connection
      .prepare('SELECT created_at AS folderMillis, hash FROM schema_migrations ORDER BY created_at')
      .all() as { folderMillis: number; hash: string }[];
  } finally {
    connection.close();
  }
}

/** How many of today's migrations the ledger has behind it. */
function migrationsOf(file: string): number {
  const latest = Math.max(...appliedIn(file).map(({ folderMillis }) => folderMillis));
  return MIGRATIONS.filter(({ folderMillis }) => folderMillis <= latest).length;
}

function readViews(connection: LedgerConnection): Views {
  return rowsOf(connection, "type = 'view' AND name LIKE 'finance\\_%' ESCAPE '\\'");
}

function allRows(connection: LedgerConnection): Views {
  return rowsOf(connection, "type = 'table'");
}

function rowsOf(connection: LedgerConnection, which: string): Views {
  const names = connection.prepare(`SELECT name FROM sqlite_schema WHERE ${which} ORDER BY name`).pluck().all();
  return new Map(
    (names as string[]).map((name) => [name, sorted(connection.prepare(`SELECT * FROM ${name}`).safeIntegers().all())]),
  );
}

function sorted(rows: unknown[]): Row[] {
  const text = (row: unknown): string =>
    JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
  return (rows as Row[]).toSorted((a, b) => (text(a) < text(b) ? -1 : 1));
}

/** The rows with only the columns that `like` has, in its order. */
function pickColumns(rows: Row[] = [], like: Row[]): Row[] {
  const columns = Object.keys(like[0] ?? {});
  if (columns.length === 0) return [];
  return sorted(rows.map((row) => Object.fromEntries(columns.map((column) => [column, row[column]]))));
}

function schemaOf(connection: LedgerConnection, where = 'true'): unknown[] {
  return connection.prepare(`SELECT type, name, sql FROM sqlite_schema WHERE ${where} ORDER BY type, name`).all();
}
