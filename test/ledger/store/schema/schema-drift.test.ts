import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { getTableColumns, type SQL } from 'drizzle-orm';
import {
  getTableConfig,
  getViewConfig,
  type SQLiteColumn,
  SQLiteSyncDialect,
  type SQLiteTable,
} from 'drizzle-orm/sqlite-core';
import { expect, onTestFinished, test } from 'vitest';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import * as financeViews from '../../../../src/ledger/store/schema/finance-views.ts';
import {
  bindToRow,
  createGuardTriggers,
  guardedColumnsSql,
  guardedTables,
} from '../../../../src/ledger/store/schema/guards.ts';
import { entryKindSql } from '../../../../src/ledger/store/schema/keys.ts';
import { LEDGER_TABLES } from '../../../../src/ledger/store/schema/ledger-tables.ts';
import { migrateInMemory } from '../../../../src/ledger/store/schema/migrate.ts';

/** A table, as the schema file and the database must both have it. */
interface TableShape {
  columns: Record<string, { type: string; notNull: boolean; default: string | null }>;
  primaryKey: string[];
  indexes: Record<string, { unique: boolean; columns: string[]; where: string | null }>;
  references: string[];
}

const dialect = new SQLiteSyncDialect();

test('the schema files match the migrations: tables, columns, keys, indexes and references', () => {
  const connection = new Database(':memory:');
  onTestFinished(() => void connection.close());
  migrateInMemory(connection);

  expect(declaredTables()).toEqual(migratedTables(connection));
});

test('the views that the program reads have the expected columns', () => {
  const connection = new Database(':memory:');
  onTestFinished(() => void connection.close());
  migrateInMemory(connection);
  const columnsOf = (view: string) => connection.pragma(`table_info(${view})`) as { name: string }[];

  for (const view of Object.values(financeViews)) {
    const { name, selectedFields } = getViewConfig(view);
    expect([name, Object.keys(selectedFields)]).toEqual([name, columnsOf(name).map((column) => column.name)]);
  }
});

test('the views and the program name the kinds of entries alike', () => {
  const views = readFileSync(new URL('../../../../drizzle/views.sql', import.meta.url), 'utf8');
  expect(views).toContain(entryKindSql('e.kind'));
});

test('guards cover the same columns as the row changes of older ledgers', () => {
  const columns = Object.fromEntries(guardedTables().map(({ table, columns }) => [table, columns.join(' ')]));
  expect(columns).toMatchObject({
    silences:
      'silence_id kind workspace_key rule tenant period up_to_credits begins_at until weekdays hours days_of_month time_zone reason created_by created_at ended_at ended_by',
    alerts:
      'alert_id rule workspace_key tenant_key period_key cause level severity state first_fired_at revision notified_count detail episode began_at',
    deliveries: 'notification_id channel form payload state attempts failures created_at delivered_at last_error',
  });
  expect(Object.keys(columns).sort()).toEqual([
    ...[
      'acts',
      'alert_feedback',
      'alert_notified',
      'alert_transitions',
      'alerts',
      'channel_states',
      'charge_corrections',
      'deliveries',
      'delivery_members',
      'invoice_numbers',
      'manual_lines',
      'rate_cards',
      'reconciliations',
    ],
    ...['silences', 'tenant_names'],
  ]);
  for (const { table, guard } of LEDGER_TABLES) {
    const names = getTableConfig(table).columns.map(({ name }) => name);
    for (const column of guard?.except ?? []) expect(names).toContain(column);
  }
});

test('triggers record the key of a row that is added, changed in a guarded column, or deleted', () => {
  const connection = new Database(':memory:');
  onTestFinished(() => void connection.close());
  migrateInMemory(connection);
  const change = connection.prepare('SELECT * FROM row_changes ORDER BY change_seq DESC LIMIT 1');
  const count = connection.prepare('SELECT count(*) FROM row_changes').pluck();
  connection.pragma('foreign_keys = OFF');
  connection.pragma('ignore_check_constraints = ON');
  for (const guarded of guardedTables()) {
    const { table, key, columns } = guarded;
    const info = connection.pragma(`table_info(${table})`) as ColumnInfo[];
    connection.exec(
      `INSERT INTO ${table} SELECT ${info.map(({ type }) => (type === 'TEXT' || type === 'text' ? "'1'" : '1')).join()}`,
    );
    const says = connection.prepare(`SELECT row_digest(${guardedColumnsSql(guarded, table)}) FROM ${table}`).pluck();
    const rowKey = connection
      .prepare(`SELECT CAST(${bindToRow(key, table)} AS TEXT) FROM ${table}`)
      .pluck()
      .get();
    expect(change.get()).toMatchObject({ table_name: table, row_key: rowKey, row_digest: says.get() });
    const drop = connection
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ? AND name NOT LIKE '%guard%'")
      .pluck();
    for (const name of drop.all(table)) connection.exec(`DROP TRIGGER ${name}`);
    for (const { name } of info) {
      if (key.includes(name)) continue;
      const before = count.get() as number;
      connection.exec(`UPDATE ${table} SET ${name} = 2`);
      expect([table, name, (count.get() as number) - before]).toEqual([table, name, columns.includes(name) ? 1 : 0]);
      if (columns.includes(name)) expect(change.get()).toMatchObject({ row_key: rowKey, row_digest: says.get() });
    }
    connection.exec(`DELETE FROM ${table}`);
    expect(change.get()).toMatchObject({ table_name: table, row_key: rowKey, row_digest: null });
  }
});

test('guards over other columns than before record every existing row, and no others do', () => {
  const connection = new Database(':memory:');
  onTestFinished(() => void connection.close());
  migrateInMemory(connection);
  connection.exec(
    "INSERT INTO channel_states (name, disabled_at, reason) VALUES ('ops', 'now', 'gone'), ('mail', 'now', 'full')",
  );
  const changes = connection.prepare('SELECT row_key FROM row_changes ORDER BY change_seq').pluck();
  createGuardTriggers(connection);
  expect(changes.all()).toEqual(['ops', 'mail']);

  connection.exec(`DROP TRIGGER channel_states_guard_update; CREATE TRIGGER channel_states_guard_update AFTER UPDATE OF reason
    ON channel_states BEGIN SELECT 1; END`);
  createGuardTriggers(connection);

  expect(changes.all()).toEqual(['ops', 'mail', 'ops', 'mail']);
  connection.exec("UPDATE channel_states SET disabled_at = 'later' WHERE name = 'ops'");
  expect(changes.all()).toHaveLength(5);
});

test.each([
  ['a column', 'ALTER TABLE runs ADD COLUMN note TEXT'],
  ['an index', 'CREATE INDEX runs_by_slot ON runs (slot)'],
  [
    'an index that covers part of a table',
    'DROP INDEX deliveries_due; CREATE INDEX deliveries_due ON deliveries (due_at, scheduled_at)',
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
])('a difference in %s is detected', (_, statements) => {
  const connection = new Database(':memory:');
  onTestFinished(() => void connection.close());
  migrateInMemory(connection);
  connection.exec(statements);

  expect(declaredTables()).not.toEqual(migratedTables(connection));
});

function declaredTables(): Record<string, TableShape> {
  return Object.fromEntries(LEDGER_TABLES.map(({ table }) => [getTableConfig(table).name, declaredShape(table)]));
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

function migratedTables(connection: LedgerDb): Record<string, TableShape> {
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

function migratedShape(connection: LedgerDb, table: string): TableShape {
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
function indexText(connection: LedgerDb, name: string): { columns: string[]; where: string | null } {
  const sql = String(connection.prepare('SELECT sql FROM sqlite_schema WHERE name = ?').pluck().get(name));
  const parts = /ON\s+\S+\s+\((.*?)\)(?:\s+WHERE\s+(.*))?$/is.exec(sql);
  if (parts === null) throw new Error(`cannot read ${sql}`);
  const columns = (parts[1] as string).replaceAll('`', '').split(/,\s*(?![^(]*\))/);
  return { columns, where: parts[2] ?? null };
}

function textOf(expression: SQL): string {
  return dialect.sqlToQuery(expression).sql;
}
