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
import { type NamedTable, namedTable } from '../ledger/store/schema/ledger-tables.ts';
import type { TableProperties } from '../ledger/store/schema/rows.ts';
import { runs, tenantUsage, usageEntries } from '../ledger/store/schema/run-tables.ts';
import { acts, periods, tenants, workspaces } from '../ledger/store/schema/workspace-tables.ts';

/**
 * A table of the ledger in its Postgres form, with `ledger_key` as first column. Keys of ledger N begin at N << 40,
 * those of workspaces at N << 23. So they are unique across ledgers, views can join on them, and `period_key / 131072`
 * is the workspace's key there too.
 */
export interface CopiedTable extends NamedTable {
  /** SQL over `r`, valid in both databases, for the key of a row's workspace; NULL for the whole ledger. */
  workspace: string;
  /** SQL over `r` for the key of a row's period; 0 for none. */
  period: string;
  /** The increasing number of an append-only table; null for other tables. */
  added: string | null;
}

/** Column types by kind. Text is compared byte by byte, as in SQLite. */
const POSTGRES_TYPES = { integer: 'bigint', text: 'text COLLATE "C"', blob: 'bytea' } as const;

const ALERT_WORKSPACE = '(SELECT a.workspace_key FROM alerts a WHERE a.alert_key = r.alert_key)';

/** The copied tables, ordered so that referenced rows come first. */
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
  /** The columns to send; default: all except blobs. */
  only?: string;
}

function copied(table: TableProperties['table'], options: CopyOptions = {}): CopiedTable {
  const { workspace = 'r.workspace_key', period = '0', added = null, only } = options;
  const { name, columns, key } = namedTable({ table });
  const names = only?.split(/\s+/);
  const sent = columns.filter((column) => column.kind !== 'blob' && (names?.includes(column.name) ?? true));
  return { name, columns: sent, key, workspace, period, added };
}

function copiedByPeriod(table: TableProperties['table'], period = 'r.period_key', added?: string): CopiedTable {
  const workspace = `${period} / ${PERIODS_PER_WORKSPACE}`;
  return copied(table, added === undefined ? { workspace, period } : { workspace, period, added });
}

/** Returns the number that a ledger adds to the values of a key column; null for other columns. */
export function offsetOf(column: string, ledgerKey: number): bigint | null {
  return column.endsWith('_key') ? BigInt(ledgerKey) << ledgerShift(column) : null;
}

/** Returns SQLite expressions for a row's values in Postgres; `text` wraps text values. */
export function valuesOf({ columns }: CopiedTable, ledgerKey: number, text = (value: string) => value): string[] {
  return columns.map(({ name, kind }) => {
    const offset = offsetOf(name, ledgerKey);
    const value = offset === null ? `r.${name}` : `r.${name} + ${offset}`;
    return `coalesce(${kind === 'text' ? text(value) : value}, '\\N')`;
  });
}

export function columnNames({ columns }: CopiedTable): string {
  return ['ledger_key', ...columns.map(({ name }) => pg.escapeIdentifier(name))].join(', ');
}

/**
 * Returns the CREATE TABLE statement. A key that encodes its ledger is the primary key; other keys are unique only
 * within a ledger.
 */
export function createTable({ name, columns, key }: CopiedTable): string {
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
