import { AppError, UsageError } from '../../core/errors.ts';
import { isInPeriods } from '../../core/period.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { tenantNameLookup } from '../../ledger/store/tenant-names.ts';
import { formatInteger, formatSigned, sheetOf, type TableColumn } from '../../reports/formats/columns.ts';
import { renderJson } from '../../reports/formats/json.ts';
import { renderTable } from '../../reports/formats/table.ts';
import {
  PLACED_ENTRY_COLUMNS,
  TENANT_ENTRY_COLUMNS,
  type TenantEntry,
  tenantEntries,
  workspacesOfTenant,
} from '../../reports/queries/tenants.ts';
import { USAGE_COLUMNS, type UsageRow, usageRows } from '../../reports/queries/usage.ts';
import type { UsageItem } from '../../usage-api/answers/check-item.ts';
import type { UsageApiClient } from '../../usage-api/client.ts';
import type { Context } from '../../wiring/context.ts';
import { noteMissingTenant, requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand, withStopSignal } from '../shared/cli-context.ts';
import { addPeriodOptions, chosenPeriods, type PeriodOptions, parseLimit } from '../shared/options.ts';
import {
  addSheetOptions,
  chosenFormat,
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
        withStopSignal((signal) => showTenant(cli, context, { ...options, tenantId }, signal)),
      ),
    );
}

async function showTenant(cli: CliContext, context: Context, options: TenantQuery, signal: AbortSignal): Promise<void> {
  const { tenantId, workspace, live } = options;
  const format = chosenFormat(options, 'table');
  if (tenantId === '') throw new UsageError('the tenant id is empty', 'give a tenant id, such as `acme`');
  if (format !== 'table' && format !== 'json') {
    if (live === true)
      throw new UsageError(`--live does not work with --format ${format}`, 'use --format table or --format json');
    const workspaces = workspacesToRead(context, tenantId, workspace, false);
    const rows = workspaces.flatMap((workspaceId) => entryRows(cli, context, workspaceId, options));
    await writeSheet(cli, sheetOf('history', PLACED_ENTRY_COLUMNS, rows), { format, options });
    return;
  }
  const reports: TenantReport[] = [];
  for (const workspaceId of workspacesToRead(context, tenantId, workspace, live === true)) {
    const { connection } = context.reader();
    const usage = usageRows(connection, { workspaceId, tenantId, period: chosenPeriods(options) });
    const entries = selectedEntries(cli, context, workspaceId, options);
    const display_name = tenantNameLookup(connection, { workspaceId, tenantId })(workspaceId, tenantId);
    const liveReport = live === true ? await fetchLive(cli, context, { workspaceId, options, usage, signal }) : null;
    reports.push({ workspace_id: workspaceId, display_name, usage, entries, live: liveReport });
  }
  const known = reports.filter(hasData);
  if (known.length === 0) {
    cli.note(`no data for tenant ${inertText(JSON.stringify(tenantId))}`);
    noteMissingTenant(cli, context.reader().connection, { tenantId, workspaceId: workspace });
  }
  if (format === 'json') await writeText(cli, renderJson({ tenant_id: tenantId, workspaces: known }), options);
  else if (options.out === undefined) printTenantReports(cli, tenantId, known);
  else await writeTable(cli, '', options);
  const failed = reports.filter((report) => report.live !== null && 'error' in report.live).length;
  if (failed > 0) cli.exitCode = failed === reports.length ? EXIT.failed : EXIT.partial;
}

function selectedEntries(cli: CliContext, context: Context, workspaceId: string, options: TenantQuery): TenantEntry[] {
  const { tenantId, limit } = options;
  const selected = chosenPeriods(options);
  const all = tenantEntries(context.reader().connection, workspaceId, tenantId);
  const matching = all.filter(({ period }) => isInPeriods(period, selected));
  const shown = limit === undefined ? matching : matching.slice(-limit);
  const earlier = matching.length - shown.length;
  if (earlier > 0) cli.note(`${inertText(workspaceId)}: ${formatInteger(earlier)} earlier entries not shown`);
  return shown;
}

function entryRows(cli: CliContext, context: Context, workspaceId: string, options: TenantQuery) {
  const { tenantId } = options;
  const { connection } = context.reader();
  const display_name = tenantNameLookup(connection, { workspaceId, tenantId })(workspaceId, tenantId);
  const entries = selectedEntries(cli, context, workspaceId, options);
  return entries.map((entry) => ({ workspace_id: workspaceId, tenant_id: tenantId, display_name, ...entry }));
}

/**
 * Returns the named workspace; without a name, every workspace in which the ledger has the tenant, and with `live` also
 * every configured one.
 */
function workspacesToRead(context: Context, tenantId: string, workspace: string | undefined, live: boolean): string[] {
  requireKnownWorkspace(context, workspace);
  if (workspace !== undefined) return [workspace];
  const configured = live ? context.config.workspaces.map(({ id }) => id) : [];
  return [...new Set([...configured, ...workspacesOfTenant(context.reader().connection, tenantId)])];
}

async function fetchLive(
  cli: CliContext,
  context: Context,
  request: { workspaceId: string; options: TenantQuery; usage: UsageRow[]; signal: AbortSignal },
): Promise<LiveReport> {
  const { workspaceId, usage, signal } = request;
  const { tenantId } = request.options;
  const selected = chosenPeriods(request.options);
  try {
    const workspace = context.workspace(workspaceId);
    const live = await fetchLiveHistory(await context.client(workspace), tenantId, workspace.perPage, signal);
    if (!live.complete) cli.note(`${inertText(workspaceId)}: the service's listing changed while it was read`);
    const periods = compareHistories(usage, live.items);
    return { complete: live.complete, periods: periods.filter(({ period }) => isInPeriods(period, selected)) };
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    return { error: cli.noteFailure(workspaceId, error) };
  }
}

function hasData({ usage, entries, live }: TenantReport): boolean {
  if (usage.length > 0 || entries.length > 0) return true;
  return live !== null && ('error' in live || live.periods.length > 0);
}

interface TenantReport {
  workspace_id: string;
  /** The tenant's display name in this workspace; null when it has none. */
  display_name: string | null;
  usage: UsageRow[];
  entries: TenantEntry[];
  /** The comparison with the service; null without --live. */
  live: LiveReport | null;
}

type LiveReport =
  | { complete: boolean; periods: Comparison[] }
  | { error: { code: string; message: string; hint: string | null } };

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

interface LiveHistory {
  items: UsageItem[];
  /** False when the pages do not add up to the announced total: the listing changed while it was read. */
  complete: boolean;
}

/** Reads all pages of a tenant's history. Of a period that appears twice, the last record counts. */
async function fetchLiveHistory(
  client: UsageApiClient,
  tenantId: string,
  perPage: number,
  signal: AbortSignal,
): Promise<LiveHistory> {
  const byPeriod = new Map<string, UsageItem>();
  let announced = 0;
  try {
    for await (const { usage, total_records } of client.usage({ tenantId, perPage }, { signal }).pages()) {
      announced = total_records;
      for (const item of usage) byPeriod.set(item.period, item);
    }
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'listing_moved') throw error;
    return { items: [...byPeriod.values()], complete: false };
  }
  return { items: [...byPeriod.values()], complete: byPeriod.size === announced };
}

interface TenantFigures {
  credits_used: bigint;
  request_count: bigint;
}

interface Comparison {
  period: string;
  /** Null when the ledger has no record, or a withdrawn one. */
  ledger: TenantFigures | null;
  service: TenantFigures | null;
  /** Credits of the service minus credits of the ledger; a missing side counts as 0. */
  credits_difference: bigint;
  same: boolean;
}

function compareHistories(ledger: readonly UsageRow[], service: readonly UsageItem[]): Comparison[] {
  const ledgerSide = new Map(ledger.filter((row) => !row.withdrawn).map((row) => [row.period, tenantFigures(row)]));
  const serviceSide = new Map(service.map((item) => [item.period, tenantFigures(item)]));
  const periods = [...new Set([...ledgerSide.keys(), ...serviceSide.keys()])].sort();
  return periods.map((period) => {
    const ledgerFigures = ledgerSide.get(period) ?? null;
    const serviceFigures = serviceSide.get(period) ?? null;
    return {
      period,
      ledger: ledgerFigures,
      service: serviceFigures,
      credits_difference: (serviceFigures?.credits_used ?? 0n) - (ledgerFigures?.credits_used ?? 0n),
      same:
        ledgerFigures?.credits_used === serviceFigures?.credits_used &&
        ledgerFigures?.request_count === serviceFigures?.request_count,
    };
  });
}

function tenantFigures(record: { credits_used: number | bigint; request_count: number | bigint }): TenantFigures {
  return { credits_used: BigInt(record.credits_used), request_count: BigInt(record.request_count) };
}
