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
import type { TableRecord } from '../ledger/store/schema/rows.ts';
import { runs, tenantUsage, usageEntries } from '../ledger/store/schema/run-tables.ts';
import { acts, periods, tenants, workspaces } from '../ledger/store/schema/workspace-tables.ts';

/**
 * A table of the ledger as Postgres has it, with `ledger_key` before its columns. Keys of ledger N begin at N << 40, those of
 * workspaces at N << 23: so they are unique over all ledgers, the views join by them as in the ledger, and
 * `period_key / 131072` is the key of the workspace there, too.
 */
export interface CopiedTable extends NamedTable {
  /** SQL over `r`, in both databases: the key of a row's workspace; NULL is about the whole ledger. */
  workspace: string;
  /** SQL over `r`: the key of a row's period; 0: of none. */
  period: string;
  /** The number that only grows in a table to which rows are only added. */
  added: string | null;
}

/** Text is compared byte by byte, as SQLite compares. */
const TYPES = { integer: 'bigint', text: 'text COLLATE "C"', blob: 'bytea' } as const;

const OF_ALERT = '(SELECT a.workspace_key FROM alerts a WHERE a.alert_key = r.alert_key)';

/** Rows that others refer to come first. */
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
  ofPeriod(usageEntries, 'r.period_key', 'entry_id'),
  ofPeriod(tenantUsage),
  ofPeriod(closedUsage),
  ofPeriod(adjustments, 'r.booked_period_key', 'adjustment_id'),
  copied(rateCards, { workspace: 'NULL' }),
  ofPeriod(charges),
  ofPeriod(chargeLines),
  ofPeriod(costs),
  ofPeriod(chargeCorrections, 'r.booked_period_key', 'correction_id'),
  ofPeriod(statementNumbers, 'r.period_key', 'close_seq'),
  ofPeriod(reconciliations, 'r.period_key', 'act_seq'),
  ofPeriod(invoiceNumbers, 'r.period_key', 'act_seq'),
  ofPeriod(manualLines),
  copied(alerts, {
    only: `alert_key alert_id workspace_key period_key tenant_key rule cause level severity state threshold
      previous_credits current_credits previous_requests current_requests first_fired_at last_changed_at revision notified_count`,
  }),
  copied(alertTransitions, { workspace: OF_ALERT }),
  copied(deliveries, {
    workspace: 'NULL',
    only: 'delivery_key notification_id channel form state attempts created_at delivered_at last_error',
  }),
  copied(deliveryMembers, { workspace: OF_ALERT }),
];

interface Particulars {
  workspace?: string;
  period?: string;
  added?: string;
  /** Columns that are sent; all but blobs when absent. */
  only?: string;
}

function copied(table: TableRecord['table'], particulars: Particulars = {}): CopiedTable {
  const { workspace = 'r.workspace_key', period = '0', added = null, only } = particulars;
  const { name, columns, key } = namedTable({ table });
  const names = only?.split(/\s+/);
  const sent = columns.filter((column) => column.kind !== 'blob' && (names?.includes(column.name) ?? true));
  return { name, columns: sent, key, workspace, period, added };
}

function ofPeriod(table: TableRecord['table'], period = 'r.period_key', added?: string): CopiedTable {
  const workspace = `${period} / ${PERIODS_PER_WORKSPACE}`;
  return copied(table, added === undefined ? { workspace, period } : { workspace, period, added });
}

/** What a ledger adds to the values of a column; null where it adds nothing. */
export function offsetOf(column: string, ledgerKey: number): bigint | null {
  return column.endsWith('_key') ? BigInt(ledgerKey) << bitsOf(column) : null;
}

/** A row's values as Postgres has them, in SQL of the ledger; `text` wraps those that are text. */
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

/** A key that says its ledger is the primary key as it is; a number of a ledger is unique within it. */
export function createTable({ name, columns, key }: CopiedTable): string {
  const typed = columns.map(
    (column) => `${pg.escapeIdentifier(column.name)} ${TYPES[column.kind]}${column.notNull ? ' NOT NULL' : ''}`,
  );
  const owned = columns.find((column) => column.name.endsWith('_key') && column.notNull)?.name ?? '';
  const primary = key.some((column) => column.endsWith('_key')) ? key : ['ledger_key', ...key];
  return `CREATE TABLE ${name} (ledger_key integer NOT NULL, ${typed.join(', ')}, PRIMARY KEY (${primary.join(', ')}),
    CHECK (${owned} >> ${bitsOf(owned)} = ledger_key))`;
}

function bitsOf(column: string): bigint {
  return column === 'workspace_key' ? 23n : 40n;
}
