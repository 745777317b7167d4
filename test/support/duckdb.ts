import { DuckDBInstance } from '@duckdb/node-api';
import { onTestFinished } from 'vitest';

/** A row as DuckDB gives it: bigints, numbers, texts, booleans, Dates, and null. */
export type DuckRow = Record<string, unknown>;

export interface DuckDb {
  rows(sql: string): Promise<DuckRow[]>;
  /** The columns of a file or query, with DuckDB's name of their type, in their order. */
  types(from: string): Promise<Record<string, string>>;
}

/** A database in memory, to read with what this program has written; closed when the test has finished. */
export async function openDuckDb(): Promise<DuckDb> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  onTestFinished(() => {
    connection.closeSync();
    instance.closeSync();
  });
  await connection.run("SET TimeZone = 'UTC'");
  const rows = async (sql: string): Promise<DuckRow[]> =>
    (await connection.runAndReadAll(sql)).getRowObjectsJS() as DuckRow[];
  return {
    rows,
    async types(from) {
      const described = await rows(`DESCRIBE SELECT * FROM ${from}`);
      return Object.fromEntries(described.map((column) => [String(column.column_name), String(column.column_type)]));
    },
  };
}
