import pg from 'pg';
import { alerts, alertTransitions, deliveryMembers } from '../ledger/store/schema/alert-tables.ts';
import {
  adjustments,
  chargeCorrections,
  chargeLines,
  charges,
  closedUsage,
  costs,
  invoiceNumbers,
  manualLines,
  periodEvents,
  rateCards,
  reconciliations,
  statementNumbers,
  tenantNames,
} from '../ledger/store/schema/billing-tables.ts';
import { deliveries } from '../ledger/store/schema/delivery-tables.ts';
import { PERIODS_PER_WORKSPACE } from '../ledger/store/schema/keys.ts';
import { describeTable, type TableDescription } from '../ledger/store/schema/ledger-tables.ts';
import type { TableProperties } from '../ledger/store/schema/rows.ts';
import { runs, tenantUsage, usageEntries } from '../ledger/store/schema/run-tables.ts';
import { acts, periods, tenants, workspaces } from '../ledger/store/schema/workspace-tables.ts';

/**
 * A table of the ledger in its Postgres form, with `ledger_key` as first column. The copy adds N << 40 to the keys of
 * ledger N, and N << 23 to the keys of workspaces. So keys are unique across ledgers, views can join on them, and
 * `period_key / 131072` is the key of the workspace in Postgres as it is in SQLite.
 */
export interface CopiedTable extends TableDescription {
  /**
   * SQL expression for the key of a row's workspace, where `r` is the row's alias. It is valid in SQLite and Postgres.
   * NULL if the row belongs to no workspace.
   */
  workspace: string;
  /** SQL expression for the key of a row's period, where `r` is the row's alias; 0 if the row belongs to no period. */
  period: string;
  /** For an append-only table, the column whose values only increase; null for other tables. */
  added: string | null;
}

/** Postgres' column types by kind of column. COLLATE "C" compares text byte by byte, as SQLite does. */
const POSTGRES_TYPES = { integer: 'bigint', text: 'text COLLATE "C"', blob: 'bytea' } as const;

const ALERT_WORKSPACE = '(SELECT a.workspace_key FROM alerts a WHERE a.alert_key = r.alert_key)';

/** The copied tables. A table comes after the tables that its rows refer to. */
export const COPIED_TABLES: readonly CopiedTable[] = [
  copied(workspaces, { only: 'workspace_key workspace_id ended_seq' }),
  copied(tenants, { added: 'tenant_key' }),
  copied(tenantNames, { workspace: '(SELECT t.workspace_key FROM tenants t WHERE t.tenant_key = r.tenant_key)' }),
  copied(periods, {
    period: 'r.period_key',
    only: 'period_key workspace_key period period_start period_end covered_run_key closed_seq',
  }),
  copied(periodEvents, { period: 'r.period_key', added: 'event_seq' }),
  copied(acts, { added: 'act_seq' }),
  copied(runs),
  copiedByPeriod(usageEntries, 'r.period_key', 'entry_id'),
  copiedByPeriod(tenantUsage),
  copiedByPeriod(closedUsage),
  copiedByPeriod(adjustments, 'r.booked_period_key', 'adjustment_id'),
  copied(rateCards, { workspace: 'NULL' }),
  copiedByPeriod(charges),
  copiedByPeriod(chargeLines),
  copiedByPeriod(costs),
  copiedByPeriod(chargeCorrections, 'r.booked_period_key', 'correction_id'),
  copiedByPeriod(statementNumbers, 'r.period_key', 'close_seq'),
  copiedByPeriod(reconciliations, 'r.period_key', 'act_seq'),
  copiedByPeriod(invoiceNumbers, 'r.period_key', 'act_seq'),
  copiedByPeriod(manualLines),
  copied(alerts, {
    only: `alert_key alert_id workspace_key period_key tenant_key rule cause level severity state threshold
      previous_credits current_credits previous_requests current_requests first_fired_at last_changed_at revision notified_count`,
  }),
  copied(alertTransitions, { workspace: ALERT_WORKSPACE }),
  copied(deliveries, {
    workspace: 'NULL',
    only: 'delivery_key notification_id channel form state attempts created_at delivered_at last_error',
  }),
  copied(deliveryMembers, { workspace: ALERT_WORKSPACE }),
];

interface CopyOptions {
  workspace?: string;
  period?: string;
  added?: string;
  /** Names of the columns to copy, separated by spaces; default: all columns except blobs. */
  only?: string;
}

function copied(table: TableProperties['table'], options: CopyOptions = {}): CopiedTable {
  const { workspace = 'r.workspace_key', period = '0', added = null, only } = options;
  const { name, columns, key } = describeTable({ table });
  const names = only?.split(/\s+/);
  const sent = columns.filter((column) => column.kind !== 'blob' && (names?.includes(column.name) ?? true));
  return { name, columns: sent, key, workspace, period, added };
}

function copiedByPeriod(table: TableProperties['table'], period = 'r.period_key', added?: string): CopiedTable {
  const workspace = `${period} / ${PERIODS_PER_WORKSPACE}`;
  return copied(table, added === undefined ? { workspace, period } : { workspace, period, added });
}

/**
 * Returns the number that the copy adds to the values of a key column, so that keys of different ledgers differ; null
 * if the column is not a key.
 */
export function keyOffset(column: string, ledgerKey: number): bigint | null {
  return column.endsWith('_key') ? BigInt(ledgerKey) << ledgerShift(column) : null;
}

/**
 * Returns SQLite expressions for the values that Postgres stores for a row. `text` is applied to the expression of each
 * text column.
 */
export function valueExpressions(
  { columns }: CopiedTable,
  ledgerKey: number,
  text = (value: string) => value,
): string[] {
  return columns.map(({ name, kind }) => {
    const offset = keyOffset(name, ledgerKey);
    const value = offset === null ? `r.${name}` : `r.${name} + ${offset}`;
    return `coalesce(${kind === 'text' ? text(value) : value}, '\\N')`;
  });
}

/** Returns the quoted names of a table's columns in Postgres, as a list for SQL. */
export function columnList({ columns }: CopiedTable): string {
  return ['ledger_key', ...columns.map(({ name }) => pg.escapeIdentifier(name))].join(', ');
}

/**
 * Returns the CREATE TABLE statement for Postgres. Keys in `*_key` columns are unique in Postgres, because each ledger
 * adds its own offset to them. Any other key is unique only within a ledger, so `ledger_key` becomes the first column
 * of the primary key.
 */
export function createTableSql({ name, columns, key }: CopiedTable): string {
  const columnDefinitions = columns.map(
    (column) =>
      `${pg.escapeIdentifier(column.name)} ${POSTGRES_TYPES[column.kind]}${column.notNull ? ' NOT NULL' : ''}`,
  );
  const ledgerColumn = columns.find((column) => column.name.endsWith('_key') && column.notNull)?.name ?? '';
  const primary = key.some((column) => column.endsWith('_key')) ? key : ['ledger_key', ...key];
  return `CREATE TABLE ${name} (ledger_key integer NOT NULL, ${columnDefinitions.join(', ')}, PRIMARY KEY (${primary.join(', ')}),
    CHECK (${ledgerColumn} >> ${ledgerShift(ledgerColumn)} = ledger_key))`;
}

function ledgerShift(column: string): bigint {
  return column === 'workspace_key' ? 23n : 40n;
}
