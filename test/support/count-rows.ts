import type { Statement } from 'better-sqlite3';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';

/** The rows that a connection gave to the program since the last call of `start`. */
export interface RowCount {
  start(): void;
  readonly rows: number;
}

/**
 * Counts the rows that statements of a connection return, of those that are prepared from now on. Rows that SQLite reads
 * for a sum or an order are not counted: look at the plan for those.
 */
export function countRows(connection: LedgerDb): RowCount {
  let rows = 0;
  const prepare = connection.prepare.bind(connection);
  const counted = (statement: Statement): Statement =>
    new Proxy(statement, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          const result = value.apply(target, args);
          if (result === target) return counted(target);
          if (name === 'all') rows += result.length;
          if (name === 'get' && result !== undefined) rows += 1;
          return name === 'iterate' ? countEach(result) : result;
        };
      },
    });
  function* countEach(found: IterableIterator<unknown>): Generator<unknown> {
    for (const row of found) {
      rows += 1;
      yield row;
    }
  }
  Object.defineProperty(connection, 'prepare', { value: (sql: string) => counted(prepare(sql)) });
  return {
    start: () => {
      rows = 0;
    },
    get rows() {
      return rows;
    },
  };
}
