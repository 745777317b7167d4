import { type Command, Option } from 'commander';
import { isoTime } from '../../core/clock.ts';
import { parseDateTime } from '../../core/date-time.ts';
import { UsageError } from '../../core/errors.ts';
import { parsePeriod } from '../../core/period.ts';
import { usageAsOf } from '../../ledger/runs/as-of.ts';
import { renderCsv } from '../../reports/formats/csv.ts';
import { formatInteger, relativeTime } from '../../reports/formats/format.ts';
import { renderTable, type TableColumn } from '../../reports/formats/table.ts';
import { type UsageFilters, type UsageRow, usageRows } from '../../reports/queries/usage.ts';
import type { Context } from '../../wiring/context.ts';
import { requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { type CliContext, examples, reportingCommand } from '../shared/cli-context.ts';
import { LIMIT_OPTION } from '../shared/whole-number.ts';

interface UsageOptions {
  period?: string;
  tenant?: string;
  workspace?: string;
  asOf?: string;
  limit?: number;
  format?: 'table' | 'csv' | 'json';
  json?: boolean;
}

export function usageCommand(cli: CliContext): Command {
  return reportingCommand('usage')
    .option('--period <period>', 'only this period, YYYY-MM')
    .option('--tenant <id>', 'only this tenant')
    .option('--workspace <id>', 'only this workspace')
    .option('--as-of <timestamp>', 'what the ledger said then: ISO-8601, such as 2026-03-05T12:00:00Z')
    .option(...LIMIT_OPTION)
    .addOption(new Option('--format <format>', 'form of the answer (default: table)').choices(['table', 'csv', 'json']))
    .addHelpText(
      'after',
      examples(
        'usage-ledger usage --period 2026-02',
        'usage-ledger usage --period 2026-02 --format csv > february.csv',
        'usage-ledger usage --tenant acme --json',
        'usage-ledger usage --period 2026-02 --as-of 2026-03-05T12:00:00Z',
      ),
    )
    .action((options: UsageOptions) => cli.withContext((context) => showUsage(cli, context, options)));
}

function showUsage(cli: CliContext, context: Context, options: UsageOptions): void {
  const format = options.format ?? (options.json === true ? 'json' : 'table');
  if (options.json === true && format !== 'json') {
    throw new UsageError(`--json contradicts --format ${format}`, 'give one of the two');
  }
  const period = options.period === undefined ? undefined : parsePeriod(options.period, '--period');
  requireKnownWorkspace(context, options.workspace);
  const asOf = options.asOf === undefined ? null : parseTimestamp(options.asOf);
  const { workspace: workspaceId, tenant: tenantId } = options;
  const all = readRows(context, asOf, { workspaceId, tenantId, period });
  const rows = all.slice(0, options.limit);
  if (all.length === 0) {
    cli.note(asOf === null ? 'the ledger holds no usage that fits' : `the ledger held no usage that fits at ${asOf}`);
  }

  if (format === 'json') {
    const filters = { workspace_id: workspaceId ?? null, tenant_id: tenantId ?? null, period: period ?? null };
    cli.printJson({ ...(asOf === null ? {} : { as_of: asOf }), filters, rows });
  } else if (format === 'csv') {
    cli.printDocument(renderCsv(rows, CSV_COLUMNS));
  } else if (rows.length > 0) {
    const columns = tableColumns(asOf === null ? context.clock.now() : Date.parse(asOf));
    cli.print(renderTable(rows, columns, cli.tableOptions));
  }
  if (rows.length < all.length) cli.note(`${formatInteger(all.length - rows.length)} more`);
}

/** What the ledger says now, or what it said at some time. */
function readRows(context: Context, asOf: string | null, filters: UsageFilters): UsageRow[] {
  const { connection } = context.reader();
  if (asOf === null) return usageRows(connection, filters);
  return usageAsOf(connection, asOf, filters).map(({ closed, ...row }) => row);
}

/** A date alone is its first instant. */
function parseTimestamp(text: string): string {
  const epochMs = parseDateTime(text.includes('T') ? text : `${text}T00:00:00Z`);
  if (epochMs !== null) return isoTime(epochMs);
  throw new UsageError(
    `--as-of ${JSON.stringify(text)} is not a time`,
    'write it as ISO-8601, such as 2026-03-05T12:00:00Z; without a zone it is UTC',
  );
}

const CSV_COLUMNS = (
  [
    'workspace_id',
    'tenant_id',
    'period',
    'period_start',
    'period_end',
    'credits_used',
    'request_count',
    'state',
    'first_seen_at',
    'changed_at',
    'withdrawn',
  ] as const
).map((key) => ({ key, header: key }));

function tableColumns(nowMs: number): TableColumn<UsageRow>[] {
  return [
    { key: 'workspace_id', header: 'Workspace' },
    { key: 'period', header: 'Period' },
    { key: 'tenant_id', header: 'Tenant' },
    { key: 'credits_used', header: 'Credits', align: 'right' },
    { key: 'request_count', header: 'Requests', align: 'right' },
    { key: 'state', header: 'State', format: (state, row) => (row.withdrawn ? `${state}, withdrawn` : state) },
    { key: 'changed_at', header: 'Changed', format: (at) => relativeTime(Date.parse(at), nowMs) },
  ];
}
