import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';

/** Everything finance reads of usage and alerts; runs, freshness and alerts about ourselves change when a run fails. */
const PUBLISHED_VIEWS = [
  'finance_usage',
  'finance_period_totals',
  'finance_period_changes',
  'finance_history',
  'finance_adjustments',
  'finance_charges',
  'finance_alerts',
] as const;

const ABOUT_USAGE: Readonly<Record<string, string>> = { finance_alerts: 'WHERE period IS NOT NULL' };

export type Row = Record<string, unknown>;

/** A connection of its own, as a finance tool would open it; integers come as bigint. */
export interface LedgerView {
  rows(sql: string, ...parameters: unknown[]): Row[];
  value(sql: string, ...parameters: unknown[]): unknown;
  /** All published views as text, for comparison of the whole. */
  dump(): string;
  close(): void;
}

/** Opens the ledger at `path` read-only; closed when the test has finished. */
export function viewLedger(path: string): LedgerView {
  const connection = new Database(path, { readonly: true });
  connection.defaultSafeIntegers();
  const close = (): void => {
    connection.close();
  };
  onTestFinished(close);
  const rows = (sql: string, ...parameters: unknown[]): Row[] => connection.prepare(sql).all(...parameters) as Row[];
  return {
    rows,
    value: (sql, ...parameters) =>
      connection
        .prepare(sql)
        .pluck()
        .get(...parameters),
    dump: () => dumpOf(connection),
    close,
  };
}

/** All published views of one moment as text. */
export function dumpOf(connection: LedgerDb): string {
  const read = (view: string) =>
    connection
      .prepare(`SELECT * FROM ${view} ${ABOUT_USAGE[view] ?? ''}`)
      .safeIntegers()
      .all() as Row[];
  return connection.transaction(() => PUBLISHED_VIEWS.map((view) => toText(view, read(view))).join('\n'))();
}

function toText(view: string, rows: Row[]): string {
  const lines = rows.map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}n` : value)));
  return [view, ...lines.sort()].join('\n');
}
