import { UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { Comparison, LiveReport } from '../../operations/tenants/live-history.ts';
import { latestEntries, showTenant, type TenantReport } from '../../operations/tenants/show-tenant.ts';
import { formatInteger, formatSigned, sheetOf, type TableColumn } from '../../reports/formats/columns.ts';
import { renderJson } from '../../reports/formats/json.ts';
import { renderTable } from '../../reports/formats/table.ts';
import { PLACED_ENTRY_COLUMNS, TENANT_ENTRY_COLUMNS } from '../../reports/queries/tenants.ts';
import { USAGE_COLUMNS } from '../../reports/queries/usage.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand, withStopSignal } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { noteMissingTenant } from '../shared/missing-tenant.ts';
import { addPeriodOptions, type PeriodOptions, parseLimit, parsePeriods } from '../shared/options.ts';
import {
  addSheetOptions,
  chooseFormat,
  LISTING_FORMAT,
  type ListingOptions,
  writeSheet,
  writeTable,
  writeText,
} from './sheet-output.ts';

interface TenantOptions extends ListingOptions, PeriodOptions {
  workspace?: string;
  live?: boolean;
}

type TenantQuery = TenantOptions & { tenantId: string };

export function tenantCommand(cli: CliContext): CliCommand {
  const command = addPeriodOptions(reportingCommand('tenant').argument('<tenant>', 'the tenant'))
    .option('--workspace <id>', 'only this workspace')
    .option('--limit <number>', 'show only this many entries per workspace, the latest', parseLimit)
    .option('--live', 'also read the tenant from the service')
    .addOption(LISTING_FORMAT);
  return addSheetOptions(command)
    .examples(
      'usage-ledger tenant acme --workspace ws-123 --live',
      'usage-ledger tenant acme --period 2026-02 --limit 20',
    )
    .action((tenantId: string, options: TenantOptions) =>
      cli.withContext((context) =>
        withStopSignal((signal) => showTenantReports(cli, context, { ...options, tenantId }, signal)),
      ),
    );
}

async function showTenantReports(
  cli: CliContext,
  context: Context,
  options: TenantQuery,
  signal: AbortSignal,
): Promise<void> {
  const { tenantId, workspace, live, limit } = options;
  const format = chooseFormat(options, 'table');
  if (tenantId === '') throw new UsageError('the tenant id is empty', 'give a tenant id, such as `acme`');
  if (format !== 'table' && format !== 'json' && live === true) {
    throw new UsageError(`--live does not work with --format ${format}`, 'use --format table or --format json');
  }
  const scope = scopeOf(context, { signal });
  const input = { tenant_id: tenantId, workspace, live, ...parsePeriods(options) };
  const { workspaces } = await showTenant.run(scope, input);
  const reports = workspaces.map((report) => {
    const { shown, earlier } = latestEntries(report.entries, limit);
    if (earlier > 0) cli.note(`${inertText(report.workspace_id)}: ${formatInteger(earlier)} earlier entries not shown`);
    return { ...report, entries: shown };
  });
  if (format !== 'table' && format !== 'json') {
    await writeSheet(cli, sheetOf('history', PLACED_ENTRY_COLUMNS, reports.flatMap(placedEntries)), {
      format,
      options,
    });
    return;
  }
  for (const { workspace_id: id, live: compared } of reports) noteComparison(cli, id, compared);
  if (reports.length === 0) {
    cli.note(`no data for tenant ${inertText(JSON.stringify(tenantId))}`);
    noteMissingTenant(cli, scope.connection, { tenantId, workspaceId: workspace });
  }
  if (format === 'json') await writeText(cli, renderJson({ tenant_id: tenantId, workspaces: reports }), options);
  else if (options.out === undefined) printTenantReports(cli, tenantId, reports);
  else await writeTable(cli, '', options);
  const failed = reports.filter(({ live: compared }) => compared !== null && 'error' in compared).length;
  if (failed > 0) cli.exitCode = failed === reports.length ? EXIT.failed : EXIT.partial;

  function placedEntries({ workspace_id, display_name, entries }: TenantReport) {
    return entries.map((entry) => ({ workspace_id, tenant_id: tenantId, display_name, ...entry }));
  }
}

function noteComparison(cli: CliContext, workspaceId: string, live: LiveReport | null): void {
  if (live === null) return;
  if ('error' in live) cli.noteFault(workspaceId, live.error);
  else if (!live.complete) cli.note(`${inertText(workspaceId)}: the service's listing changed while it was read`);
}

function printTenantReports(cli: CliContext, tenantId: string, reports: readonly TenantReport[]): void {
  for (const [index, { workspace_id, display_name, usage, entries, live }] of reports.entries()) {
    if (index > 0) cli.print('');
    const name = display_name === null ? '' : ` (${inertText(display_name)})`;
    cli.print(`${inertText(tenantId)}${name} in ${inertText(workspace_id)}`);
    cli.print('');
    if (live === null || 'error' in live) cli.print(renderTable(usage, STATE_COLUMNS, cli.tableOptions));
    else cli.print(renderTable(live.periods, COMPARISON_COLUMNS, cli.tableOptions));
    cli.print('');
    cli.print(renderTable(entries, TENANT_ENTRY_COLUMNS, cli.tableOptions));
  }
}

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
  { name: 'same', header: '', words: (_, row) => comparisonVerdict(row), style: (same) => (same ? 'dim' : 'yellow') },
];

function comparisonVerdict({ ledger, service, same }: Comparison): string {
  if (same) return 'same';
  if (ledger === null) return '<- only in the service';
  return service === null ? '<- only in the ledger' : '<- differs';
}

function figure(value: bigint | undefined): string {
  return value === undefined ? '-' : formatInteger(value);
}
