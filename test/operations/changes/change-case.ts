import { openForWriting } from '../../../src/ledger/store/file/open.ts';
import type { World } from '../../commands/world.ts';

/** A request of one change, as each way in writes it. */
export interface ChangeCase {
  /** The fields, as a caller of the API sends them. */
  input(world: World): Record<string, unknown>;
  /** The command line without `--json` and `--by`; null if no command does the same. */
  argv: ((world: World) => string[]) | null;
  /** Prepares the ledger. */
  given?: (world: World) => unknown;
  /** Where the ledger records the actor: a query with one column; null if only the daemon's log has it. */
  actors: string | null;
  /** The command takes no `--by`. */
  withoutBy?: boolean;
  /** The answer to a repeated request is another one: it sends a message, or finds nothing left to do. */
  changesWhenRepeated?: boolean;
}

/** Returns the only value of a query. */
export function firstValue(world: World, sql: string): string {
  const [row = {}] = world.query(sql) as object[];
  return String(Object.values(row)[0]);
}

/** Changes a ledger past the program. */
export function writeTo(ledgerPath: string, sql: string): void {
  const connection = openForWriting(ledgerPath);
  try {
    connection.exec(sql);
  } finally {
    connection.close();
  }
}

/** Returns every row of every table, to see whether anything was written. */
export function contentOf(world: World): Record<string, unknown[]> {
  const tables = world.query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
  return Object.fromEntries(
    (tables as { name: string }[]).map(({ name }) => [name, world.query(`SELECT * FROM "${name}"`)]),
  );
}
