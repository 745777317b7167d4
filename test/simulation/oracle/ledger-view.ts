import Database from 'better-sqlite3';
import type { LedgerDb } from '../../../src/ledger/store/ledger-db.ts';

/** The ledger as a reader from outside sees it: plain SQL, read-only, 64-bit figures as bigint. */
export class LedgerView {
  readonly #connection: LedgerDb;
  readonly #statements = new Map<string, Database.Statement>();
  #version = -1;

  constructor(path: string) {
    this.#connection = new Database(path, { readonly: true, fileMustExist: true });
    this.#connection.defaultSafeIntegers(true);
  }

  /** Whether anything was committed since the last time that this was asked. */
  hasChanged(): boolean {
    const version = Number(this.value<bigint>('PRAGMA data_version'));
    const changed = version !== this.#version;
    this.#version = version;
    return changed;
  }

  all<Row>(sql: string, ...parameters: unknown[]): Row[] {
    const statement = this.#statements.get(sql) ?? this.#connection.prepare(sql);
    this.#statements.set(sql, statement);
    return statement.all(...parameters) as Row[];
  }

  value<Value>(sql: string, ...parameters: unknown[]): Value {
    const [row] = this.all<Record<string, Value>>(sql, ...parameters);
    return Object.values(row ?? {})[0] as Value;
  }

  /** All that is read inside is of one moment. */
  atOnce<Result>(read: () => Result): Result {
    return this.#connection.transaction(read)();
  }

  close(): void {
    this.#connection.close();
  }
}
