import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { getTableColumns, is, type SQL } from 'drizzle-orm';
import {
  getTableConfig,
  getViewConfig,
  type SQLiteColumn,
  SQLiteSyncDialect,
  SQLiteTable,
} from 'drizzle-orm/sqlite-core';
import { expect, onTestFinished, test } from 'vitest';
import * as alertTables from '../../../../src/ledger/store/schema/alert-tables.ts';
import * as billingTables from '../../../../src/ledger/store/schema/billing-tables.ts';
import * as closeTables from '../../../../src/ledger/store/schema/close-tables.ts';
import * as financeViews from '../../../../src/ledger/store/schema/finance-views.ts';
import * as guardedTables from '../../../../src/ledger/store/schema/guarded-tables.ts';
import { entryKindSql } from '../../../../src/ledger/store/schema/keys.ts';
import { migrateInMemory } from '../../../../src/ledger/store/schema/migrate.ts';
import * as outboxTables from '../../../../src/ledger/store/schema/outbox-tables.ts';
import * as runTables from '../../../../src/ledger/store/schema/run-tables.ts';
import * as usageTables from '../../../../src/ledger/store/schema/usage-tables.ts';
import * as workspaceTables from '../../../../src/ledger/store/schema/workspace-tables.ts';

/** A table, as the schema file and the database must both have it. */
interface TableShape {
  columns: Record<string, { type: string; notNull: boolean; default: string | null }>;
  primaryKey: string[];
  indexes: Record<string, { unique: boolean; columns: string[]; where: string | null }>;
  references: string[];
}

const schema = {
  ...alertTables,
  ...billingTables,
  ...closeTables,
  ...outboxTables,
  ...runTables,
  ...usageTables,
  ...workspaceTables,
};

const dialect = new SQLiteSyncDialect();

test('the schema file says what the migrations make: tables, columns, keys, indexes and references', () => {
  const connection = new Database(':memory:');
  onTestFinished(() => void connection.close());
  migrateInMemory(connection);

  expect(declaredTables()).toEqual(migratedTables(connection));
});

test('the views that the program reads have the columns that it expects', () => {
  const connection = new Database(':memory:');
  onTestFinished(() => void connection.close());
  migrateInMemory(connection);
  const columnsOf = (view: string) => connection.pragma(`table_info(${view})`) as { name: string }[];

  for (const view of Object.values(financeViews)) {
    const { name, selectedFields } = getViewConfig(view);
    expect([name, Object.keys(selectedFields)]).toEqual([name, columnsOf(name).map((column) => column.name)]);
  }
});

test('the views name the kinds of entries as the program does', () => {
  const views = readFileSync(new URL('../../../../drizzle/views.sql', import.meta.url), 'utf8');
  expect(views).toContain(entryKindSql('e.kind'));
});

test('each guarded table has the triggers that its guarded columns ask for', () => {
  const connection = new Database(':memory:');
  onTestFinished(() => void connection.close());
  migrateInMemory(connection);
  const trigger = connection.prepare("SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?").pluck();
  const compact = (sql: unknown) => String(sql).replaceAll(/\s+/g, ' ');

  for (const guarded of guardedTables.GUARDED_TABLES) {
    const { table, key, columns } = guarded;
    const text = (row: string) => guardedTables.guardedText(guarded, row);
    const mark = (row: string, digest: string) =>
      `BEGIN INSERT INTO row_changes (table_name, row_key, row_digest) VALUES ('${table}', ${guardedTables.ofRow(key, row)}, ${digest}); END`;
    const written = mark('NEW', `row_digest(${text('NEW')})`);
    const expected = {
      insert: `CREATE TRIGGER ${table}_guard_insert AFTER INSERT ON ${table} ${written}`,
      update: `CREATE TRIGGER ${table}_guard_update AFTER UPDATE OF ${columns.join(', ')} ON ${table} WHEN ${text('OLD')} <> ${text('NEW')} ${written}`,
      delete: `CREATE TRIGGER ${table}_guard_delete AFTER DELETE ON ${table} ${mark('OLD', 'NULL')}`,
    };
    for (const [change, sql] of Object.entries(expected)) {
      expect(compact(trigger.get(`${table}_guard_${change}`))).toBe(sql);
    }
  }
});

test.each([
  ['a column', 'ALTER TABLE runs ADD COLUMN note TEXT'],
  ['an index', 'CREATE INDEX runs_by_slot ON runs (slot)'],
  [
    'an index that covers part of a table',
    'DROP INDEX outbox_due; CREATE INDEX outbox_due ON outbox (next_attempt_at)',
  ],
  ['a table', 'CREATE TABLE notes (note TEXT) STRICT'],
  [
    'a type',
    'DROP TABLE channel_states; CREATE TABLE channel_states (name TEXT PRIMARY KEY NOT NULL, disabled_at INTEGER NOT NULL, reason TEXT NOT NULL) STRICT',
  ],
  [
    'what may be null',
    'DROP TABLE channel_states; CREATE TABLE channel_states (name TEXT PRIMARY KEY NOT NULL, disabled_at TEXT, reason TEXT NOT NULL) STRICT',
  ],
])('a difference in %s is seen', (_, statements) => {
  const connection = new Database(':memory:');
  onTestFinished(() => void connection.close());
  migrateInMemory(connection);
  connection.exec(statements);

  expect(declaredTables()).not.toEqual(migratedTables(connection));
});

function declaredTables(): Record<string, TableShape> {
  const tables = (Object.values(schema) as unknown[]).filter((table) => is(table, SQLiteTable));
  return Object.fromEntries(tables.map((table) => [getTableConfig(table).name, declaredShape(table)]));
}

function declaredShape(table: SQLiteTable): TableShape {
  const config = getTableConfig(table);
  const columns = Object.values(getTableColumns(table)) as SQLiteColumn[];
  const composite = config.primaryKeys[0]?.columns.map(({ name }) => name);
  const indexes: TableShape['indexes'] = {};
  for (const { name, isUnique, uniqueName } of columns) {
    if (isUnique) indexes[uniqueName ?? name] = { unique: true, columns: [name], where: null };
  }
  for (const { config: index } of config.indexes) {
    indexes[index.name] = {
      unique: index.unique,
      columns: index.columns.map((column) => ('name' in column ? String(column.name) : textOf(column as SQL))),
      where: index.where === undefined ? null : textOf(index.where),
    };
  }
  return {
    columns: Object.fromEntries(
      columns.map((column) => [
        column.name,
        {
          type: column.getSQLType(),
          notNull: column.notNull,
          default: column.default === undefined ? null : String(column.default),
        },
      ]),
    ),
    primaryKey: composite ?? columns.filter(({ primary }) => primary).map(({ name }) => name),
    indexes,
    references: config.foreignKeys
      .map(({ reference }) => reference())
      .map(({ columns: from, foreignTable, foreignColumns: to }) => {
        return `${from[0]?.name} to ${getTableConfig(foreignTable).name}.${to[0]?.name}`;
      })
      .sort(),
  };
}

function migratedTables(connection: Database.Database): Record<string, TableShape> {
  const names = connection
    .prepare(
      `SELECT name FROM sqlite_schema
       WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> 'schema_migrations'`,
    )
    .pluck()
    .all() as string[];
  return Object.fromEntries(names.map((name) => [name, migratedShape(connection, name)]));
}

interface ColumnInfo {
  name: string;
  type: string;
  notnull: number;
  dflt_value: string | null;
  pk: number;
}

function migratedShape(connection: Database.Database, table: string): TableShape {
  const columns = connection.pragma(`table_info(${table})`) as ColumnInfo[];
  const list = connection.pragma(`index_list(${table})`) as { name: string; unique: number; origin: string }[];
  const foreign = connection.pragma(`foreign_key_list(${table})`) as { from: string; table: string; to: string }[];
  return {
    columns: Object.fromEntries(
      columns.map(({ name, type, notnull, dflt_value }) => [
        name,
        { type: type.toLowerCase(), notNull: notnull === 1, default: dflt_value },
      ]),
    ),
    primaryKey: columns
      .filter(({ pk }) => pk > 0)
      .sort((a, b) => a.pk - b.pk)
      .map(({ name }) => name),
    indexes: Object.fromEntries(
      list
        .filter(({ origin }) => origin === 'c')
        .map(({ name, unique }) => [name, { unique: unique === 1, ...indexText(connection, name) }]),
    ),
    references: foreign.map(({ from, table: to, to: column }) => `${from} to ${to}.${column}`).sort(),
  };
}

/** The columns and the condition of an index, as the statement that made it says them. */
function indexText(connection: Database.Database, name: string): { columns: string[]; where: string | null } {
  const sql = String(connection.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(name));
  const parts = /ON\s+\S+\s+\((.*?)\)(?:\s+WHERE\s+(.*))?$/is.exec(sql);
  if (parts === null) throw new Error(`cannot read ${sql}`);
  const columns = (parts[1] as string).replaceAll('`', '').split(/,\s*(?![^(]*\))/);
  return { columns, where: parts[2] ?? null };
}

function textOf(expression: SQL): string {
  return dialect.sqlToQuery(expression).sql;
}
