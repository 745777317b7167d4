import { inertText } from '../../core/text/inert-text.ts';
import { formatInteger, relativeTime } from '../../reports/formats/format.ts';
import { renderTable, type TableColumn } from '../../reports/formats/table.ts';
import type { TenantEntry } from '../../reports/queries/tenant.ts';
import type { UsageRow } from '../../reports/queries/usage.ts';
import type { CliContext } from '../shared/cli-context.ts';
import type { Comparison } from './tenant-live.ts';

/** Columns of a terminal that has room for everything. */
const WIDE = 120;

/** What is known of a tenant in one workspace, as `--json` shows it. */
export interface TenantReport {
  workspace_id: string;
  /** What people call it there; null without a name. */
  display_name: string | null;
  /** What the ledger holds now, by period. */
  usage: UsageRow[];
  /** How it came to that, in the order in which it was recorded. */
  entries: TenantEntry[];
  /** Null unless the service was asked. */
  live: LiveReport | null;
}

export type LiveReport =
  | { complete: boolean; periods: Comparison[] }
  | { error: { code: string; message: string; hint: string | null } };

/** Shows a tenant in each workspace: the state, or both sides of it, then the entries that led there. */
export function printTenantReports(cli: CliContext, tenantId: string, reports: readonly TenantReport[]): void {
  const columns = stateColumns(cli.now());
  const wide = cli.tableOptions.width === undefined || cli.tableOptions.width >= WIDE;
  for (const [index, { workspace_id, display_name, usage, entries, live }] of reports.entries()) {
    if (index > 0) cli.print('');
    const name = display_name === null ? '' : ` (${inertText(display_name)})`;
    cli.print(`${inertText(tenantId)}${name} in ${inertText(workspace_id)}`);
    cli.print('');
    if (live === null || 'error' in live) cli.print(renderTable(usage, columns, cli.tableOptions));
    else cli.print(renderTable(live.periods, comparisonColumns(wide), cli.tableOptions));
    cli.print('');
    cli.print(renderTable(entries, entryColumns(wide), cli.tableOptions));
  }
}

function stateColumns(nowMs: number): TableColumn<UsageRow>[] {
  return [
    { key: 'period', header: 'Period' },
    { key: 'credits_used', header: 'Credits', align: 'right' },
    { key: 'request_count', header: 'Requests', align: 'right' },
    { key: 'state', header: 'State', format: (state, row) => (row.withdrawn ? `${state}, withdrawn` : state) },
    { key: 'changed_at', header: 'Changed', format: (at) => relativeTime(Date.parse(at), nowMs) },
  ];
}

function comparisonColumns(wide: boolean): TableColumn<Comparison>[] {
  const requests: TableColumn<Comparison>[] = [
    { key: 'ledger', header: 'Ledger requests', align: 'right', format: (side) => figure(side?.request_count) },
    { key: 'service', header: 'Service requests', align: 'right', format: (side) => figure(side?.request_count) },
  ];
  return [
    { key: 'period', header: 'Period' },
    { key: 'ledger', header: 'Ledger credits', align: 'right', format: (side) => figure(side?.credits_used) },
    { key: 'service', header: 'Service credits', align: 'right', format: (side) => figure(side?.credits_used) },
    ...(wide ? requests : []),
    { key: 'credits_difference', header: 'Difference', align: 'right', format: signed },
    { key: 'same', header: '', format: (_, row) => verdict(row), style: (same) => (same ? 'dim' : 'yellow') },
  ];
}

/** Where there is little room, the minute of an entry and its figures are enough; `--json` has all of it. */
function entryColumns(wide: boolean): TableColumn<TenantEntry>[] {
  const minute = (at: string) => at.slice(0, 16).replace('T', ' ');
  return [
    { key: 'entry_id', header: 'Entry', align: 'right' },
    wide ? { key: 'recorded_at', header: 'Recorded' } : { key: 'recorded_at', header: 'Recorded', format: minute },
    { key: 'period', header: 'Period' },
    { key: 'kind', header: 'Kind' },
    { key: 'credits_delta', header: 'Credits', align: 'right', format: signed },
    { key: 'credits_after', header: wide ? 'Credits after' : 'After', align: 'right' },
    { key: 'requests_delta', header: 'Requests', align: 'right', format: signed },
    ...(wide
      ? ([
          { key: 'requests_after', header: 'Requests after', align: 'right' },
          { key: 'run_id', header: 'Run' },
        ] as const)
      : []),
  ];
}

function verdict({ ledger, service, same }: Comparison): string {
  if (same) return 'same';
  if (ledger === null) return '<- only at the service';
  return service === null ? '<- only in the ledger' : '<- differs';
}

function figure(value: bigint | undefined): string {
  return value === undefined ? '-' : formatInteger(value);
}

function signed(value: bigint): string {
  return value > 0n ? `+${formatInteger(value)}` : formatInteger(value);
}
