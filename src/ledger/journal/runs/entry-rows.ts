import type Database from 'better-sqlite3';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { perConnection } from '../../store/schema/drizzle.ts';
import { ENTRY_KINDS } from '../../store/schema/keys.ts';
import { checkedFigureSql } from './sum-limits.ts';

type Value = number | bigint;

/** Number of rows that one statement inserts. */
const ENTRIES_PER_INSERT = 100;

const INTO = `INSERT INTO usage_entries
  (run_key, period_key, tenant_key, kind, credits_delta, requests_delta, credits_after, requests_after)`;
const { opened, increased, decreased, restored } = ENTRY_KINDS;

/**
 * A form of rows that are inserted as entries. `width`: the number of values per row. `places`: the SQL placeholders of
 * all rows.
 */
interface EntryForm {
  width: number;
  sql(places: string): string;
  values(runKey: number, periodKey: number, rows: readonly Value[]): Value[];
}

/**
 * Rows (tenant, credits, requests) for tenants that have no record in the period yet. Each row becomes an entry of kind
 * `opened`.
 */
export const OPENED = entryForm({
  width: 3,
  sql: (places) =>
    `${INTO} SELECT ?, ?, column1, ${opened}, column2, column3, column2, column3 FROM (VALUES ${places})`,
  values: (runKey, periodKey, rows) => [runKey, periodKey, ...rows],
});

/** Rows with a complete entry: tenant, kind, both deltas, and both figures after the change. */
export const CHANGED = entryForm({
  width: 6,
  sql: (places) => `${INTO} SELECT ?, ?, column1, column2, column3, column4, column5, column6 FROM (VALUES ${places})`,
  values: (runKey, periodKey, rows) => [runKey, periodKey, ...rows],
});

/**
 * Rows (tenant, credits, requests) with figures too large for a double. SQLite looks up the key of each row and
 * computes kind and deltas. The driver binds numbers as doubles, so the SQL casts them to integers before it subtracts.
 */
export const COMPARED = entryForm({
  width: 3,
  sql: (places) => `WITH s (tenant_key, credits, requests) AS (
      SELECT CAST(column1 AS INTEGER), CAST(column2 AS INTEGER), CAST(column3 AS INTEGER) FROM (VALUES ${places}))
    ${INTO}
    SELECT ?, ?, s.tenant_key,
      CASE WHEN u.period_key IS NULL THEN ${opened} WHEN u.withdrawn = 1 THEN ${restored}
        WHEN s.credits > u.credits_used OR (s.credits = u.credits_used AND s.requests > u.request_count)
          THEN ${increased}
        ELSE ${decreased} END,
      ${checkedFigureSql('s.credits - coalesce(u.credits_used, 0)')}, ${checkedFigureSql('s.requests - coalesce(u.request_count, 0)')},
      s.credits, s.requests
    FROM s LEFT JOIN tenant_usage u ON u.period_key = ? AND u.tenant_key = s.tenant_key
    WHERE u.period_key IS NULL OR u.withdrawn = 1 OR u.credits_used <> s.credits OR u.request_count <> s.requests`,
  values: (runKey, periodKey, rows) => [...rows, runKey, periodKey, periodKey],
});

function entryForm(form: EntryForm) {
  const prepare = (connection: LedgerDb, rows: number): Database.Statement => {
    const row = `(${Array.from({ length: form.width }, () => '?').join(', ')})`;
    return connection.prepare(form.sql(Array.from({ length: rows }, () => row).join(', ')));
  };
  const full = perConnection((connection) => prepare(connection, ENTRIES_PER_INSERT));
  return {
    ...form,
    statement: (connection: LedgerDb, rows: number) =>
      rows === ENTRIES_PER_INSERT ? full(connection) : prepare(connection, rows),
  };
}

/** Collects rows of the same `EntryForm` and inserts them as entries of a period, many rows per statement. */
export class EntryRows {
  readonly #connection: LedgerDb;
  readonly #form: ReturnType<typeof entryForm>;
  readonly #runKey: number;
  readonly #periodKey: number;
  #rows: Value[] = [];
  #entries = 0;

  constructor(connection: LedgerDb, form: ReturnType<typeof entryForm>, runKey: number, periodKey: number) {
    this.#connection = connection;
    this.#form = form;
    this.#runKey = runKey;
    this.#periodKey = periodKey;
  }

  add(...row: Value[]): void {
    this.#rows.push(...row);
    if (this.#rows.length === ENTRIES_PER_INSERT * this.#form.width) this.#append();
  }

  /** Inserts the remaining rows and returns the total number of inserted entries. */
  finish(): number {
    if (this.#rows.length > 0) this.#append();
    return this.#entries;
  }

  #append(): void {
    const statement = this.#form.statement(this.#connection, this.#rows.length / this.#form.width);
    this.#entries += statement.run(this.#form.values(this.#runKey, this.#periodKey, this.#rows)).changes;
    this.#rows = [];
  }
}
