import type { PostgresEngine } from '../../world/postgres/engine.ts';
import { SCHEMA } from '../../world/postgres/schema.ts';
import { PromiseBroken } from '../fault.ts';
import type { LedgerView } from '../ledger-view.ts';

/** The rows of each table at one moment, as text. */
export type Contents = ReadonlyMap<string, readonly string[]>;

/** A table of a ledger, with the columns that the replica promises to have as the ledger has them. */
export interface ComparedTable {
  name: string;
  columns: readonly string[];
  /** SQL. */
  where: string;
}

/** As documented: who works at the moment is compared by nothing. */
const NOT_COMPARED = ['leases', 'outbox.claimed_until', 'outbox.unknown_attempts', 'alerts.ask_at', 'alerts.asked_at'];
/** What each copy of a ledger has for itself. */
const OWN = "name <> 'replica_epoch'";

/** Every table of the ledger: the replica has it under the same name. */
export function comparedTables(ledger: LedgerView): ComparedTable[] {
  const names = ledger
    .all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'")
    .map(({ name }) => name)
    .filter((name) => !NOT_COMPARED.includes(name) && name !== 'schema_migrations');
  return names.map((name) => ({
    name,
    columns: ledger
      .all<{ name: string }>(`SELECT name FROM pragma_table_info('${name}')`)
      .map((column) => column.name)
      .filter((column) => !NOT_COMPARED.includes(`${name}.${column}`)),
    where: name === 'ledger_meta' ? OWN : 'true',
  }));
}

export function contentsOfLedger(ledger: LedgerView, tables: readonly ComparedTable[]): Contents {
  return ledger.atOnce(
    () =>
      new Map(
        tables.map(({ name, columns, where }) => {
          const rows = ledger.all<Record<string, unknown>>(`SELECT ${columns.join(', ')} FROM ${name} WHERE ${where}`);
          return [name, rows.map((row) => columns.map((column) => toText(row[column])).join('\t')).sort()];
        }),
      ),
  );
}

/** What the replica says that it holds of a ledger. */
export interface HeldLedger {
  position: bigint;
  headDigest: string;
  contents: Contents;
}

/** Null when nothing was published of it. */
export function heldLedger(
  engine: PostgresEngine,
  ledgerId: string,
  tables: readonly ComparedTable[],
): HeldLedger | null {
  if (engine.run(`SELECT to_regclass('${SCHEMA}.ledgers')`)[0]?.[0] == null) return null;
  const [row] = engine.run(
    `SELECT ledger_key, position, head_digest FROM ${SCHEMA}.ledgers WHERE ledger_id = '${ledgerId}' AND published_at <> ''`,
  );
  const [key, position, headDigest] = row ?? [];
  if (key == null || position == null || headDigest == null) return null;
  const contents = new Map(
    tables.map(({ name, columns, where }) => {
      if (engine.run(`SELECT to_regclass('${SCHEMA}.${name}')`)[0]?.[0] == null)
        return [name, ['there is no such table']];
      const quoted = columns.map((column) => `"${column}"`).join(', ');
      const rows = engine.run(`SELECT ${quoted} FROM ${SCHEMA}.${name} WHERE ledger_key = ${key} AND ${where}`);
      return [name, rows.map((fields) => fields.map(asInLedger).join('\t')).sort()];
    }),
  );
  return { position: BigInt(position), headDigest, contents };
}

export function sameContents(one: Contents, other: Contents): boolean {
  return firstDifference(one, other) === null;
}

/** In words; null when both have the same rows. */
export function firstDifference(expected: Contents, found: Contents): string | null {
  for (const [name, rows] of expected) {
    const there = found.get(name) ?? [];
    const index = rows.findIndex((row, at) => row !== there[at]);
    if (index >= 0 || rows.length !== there.length) {
      const at = index < 0 ? rows.length : index;
      return `${name} has ${there.length} rows instead of ${rows.length}: ${there[at]} instead of ${rows[at]}`;
    }
  }
  return null;
}

/** At rest: the views that finance reads say of each workspace what its own ledger says. */
export function checkViews(engine: PostgresEngine, ledger: LedgerView, has: (workspaceId: string) => boolean): void {
  for (const { view, columns } of VIEWS) {
    const here = ledger.all<Record<string, unknown>>(`SELECT ${columns.join(', ')} FROM ${view}`);
    const there = engine.run(
      `SET search_path TO ${SCHEMA}; SELECT ${columns.join(', ')} FROM ${view}; RESET search_path`,
    );
    const expected = here
      .filter(({ workspace_id }) => has(String(workspace_id)))
      .map((row) => columns.map((column) => toText(row[column])).join('\t'));
    const found = there.filter(([id]) => has(String(id))).map((fields) => fields.map(asInLedger).join('\t'));
    const difference = firstDifference(new Map([[view, expected.sort()]]), new Map([[view, found.sort()]]));
    if (difference !== null) throw new PromiseBroken('the views of the replica say what the ledger says', difference);
  }
}

const VIEWS = [
  { view: 'finance_usage', columns: ['workspace_id', 'tenant_id', 'period', 'credits_used', 'request_count'] },
  { view: 'finance_charges', columns: ['workspace_id', 'tenant_id', 'period', 'currency', 'amount_minor'] },
  { view: 'finance_closes', columns: ['workspace_id', 'period', 'action', 'event_seq'] },
];

function toText(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  return Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value);
}

/** As documented: Postgres has no U+0000, and the replica has two characters in its place. */
function asInLedger(field: string | null): string {
  return field === null ? 'NULL' : field.replace(/␀([␀0])/g, (_, sign) => (sign === '0' ? '\0' : '␀'));
}
