import { inertText } from '../../core/text/inert-text.ts';
import type { TableColumn } from '../../reports/formats/columns.ts';
import { formatInteger, formatSigned } from '../../reports/formats/format.ts';
import { renderTable } from '../../reports/formats/table.ts';
import { ENTRY_COLUMNS, type TenantEntry } from '../../reports/queries/tenant.ts';
import { USAGE_COLUMNS, type UsageRow } from '../../reports/queries/usage.ts';
import type { CliContext } from '../shared/cli-context.ts';
import type { Comparison } from './tenant-live.ts';

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
  for (const [index, { workspace_id, display_name, usage, entries, live }] of reports.entries()) {
    if (index > 0) cli.print('');
    const name = display_name === null ? '' : ` (${inertText(display_name)})`;
    cli.print(`${inertText(tenantId)}${name} in ${inertText(workspace_id)}`);
    cli.print('');
    if (live === null || 'error' in live) cli.print(renderTable(usage, STATE_COLUMNS, cli.tableOptions));
    else cli.print(renderTable(live.periods, COMPARISON_COLUMNS, cli.tableOptions));
    cli.print('');
    cli.print(renderTable(entries, ENTRY_COLUMNS, cli.tableOptions));
  }
}

/** Without what stands above the table. */
const STATE_COLUMNS = USAGE_COLUMNS.filter(
  ({ name }) => name !== 'workspace_id' && name !== 'tenant_id' && name !== 'display_name',
);

const COMPARISON_COLUMNS: readonly TableColumn<Comparison>[] = [
  { name: 'period', header: 'Period' },
  { name: 'ledger', header: 'Ledger credits', align: 'right', words: (side) => figure(side?.credits_used) },
  { name: 'service', header: 'Service credits', align: 'right', words: (side) => figure(side?.credits_used) },
  {
    name: 'ledger',
    header: 'Ledger requests',
    align: 'right',
    wide: true,
    words: (side) => figure(side?.request_count),
  },
  {
    name: 'service',
    header: 'Service requests',
    align: 'right',
    wide: true,
    words: (side) => figure(side?.request_count),
  },
  { name: 'credits_difference', header: 'Difference', kind: 'credits', words: formatSigned },
  { name: 'same', header: '', words: (_, row) => verdict(row), style: (same) => (same ? 'dim' : 'yellow') },
];

function verdict({ ledger, service, same }: Comparison): string {
  if (same) return 'same';
  if (ledger === null) return '<- only at the service';
  return service === null ? '<- only in the ledger' : '<- differs';
}

function figure(value: bigint | undefined): string {
  return value === undefined ? '-' : formatInteger(value);
}
