import { type Command, Option } from 'commander';
import { isoTime } from '../../core/clock.ts';
import { parseDateTime } from '../../core/date-time.ts';
import { UsageError } from '../../core/errors.ts';
import { parsePeriod } from '../../core/period.ts';
import { usageAsOf } from '../../ledger/journal/runs/as-of.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { tenantNames } from '../../ledger/store/tenant-names.ts';
import { SHEET_FORMATS } from '../../reports/files/write-sheet.ts';
import { relativeTime } from '../../reports/formats/format.ts';
import { documentPieces } from '../../reports/formats/json.ts';
import { sheetOf } from '../../reports/formats/sheet.ts';
import { renderTable, type TableColumn } from '../../reports/formats/table.ts';
import { eachUsageRow, type UsageFilters, type UsageRow } from '../../reports/queries/usage.ts';
import type { Context } from '../../wiring/context.ts';
import { requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { type CliContext, examples, reportingCommand } from '../shared/cli-context.ts';
import { LIMIT_OPTION, noteMore } from '../shared/limit.ts';
import { addSheetOptions, chosenFormat, putPieces, putSheet, putTable, type SheetOptions } from './sheet-output.ts';
import { noteNearTenants } from './unknown-tenant.ts';

interface UsageOptions extends SheetOptions {
  period?: string;
  tenant?: string;
  workspace?: string;
  asOf?: string;
  limit?: number;
  format?: Format;
  json?: boolean;
}

const FORMATS = ['table', ...SHEET_FORMATS] as const;
type Format = (typeof FORMATS)[number];

export function usageCommand(cli: CliContext): Command {
  const command = reportingCommand('usage')
    .option('--period <period>', 'only this period, YYYY-MM')
    .option('--tenant <id>', 'only this tenant')
    .option('--workspace <id>', 'only this workspace')
    .option('--as-of <timestamp>', 'what the ledger said then: ISO-8601, such as 2026-03-05T12:00:00Z')
    .option(...LIMIT_OPTION)
    .addOption(new Option('--format <format>', 'form of the answer (default: table)').choices(FORMATS));
  return addSheetOptions(command)
    .addHelpText(
      'after',
      examples(
        'usage-ledger usage --period 2026-02',
        'usage-ledger usage --period 2026-02 --format csv > february.csv',
        'usage-ledger usage --period 2026-02 --format xlsx --out february.xlsx',
        'usage-ledger usage --tenant acme --json',
        'usage-ledger usage --period 2026-02 --as-of 2026-03-05T12:00:00Z',
      ),
    )
    .action((options: UsageOptions) => cli.withContext((context) => showUsage(cli, context, options)));
}

async function showUsage(cli: CliContext, context: Context, options: UsageOptions): Promise<void> {
  const format = chosenFormat(options, 'table');
  const period = options.period === undefined ? undefined : parsePeriod(options.period, '--period');
  requireKnownWorkspace(context, options.workspace);
  const asOf = options.asOf === undefined ? null : parseTimestamp(options.asOf);
  const { workspace: workspaceId, tenant: tenantId } = options;
  const { connection } = context.reader();
  const filters = { workspaceId, tenantId, period };
  const read = asOf === null ? eachUsageRow(connection, filters) : eachRowAsOf(connection, asOf, filters);
  const left = { out: 0 };
  const first = firstOf(read, options.limit, left);
  const noteNone = (): void => {
    cli.note(asOf === null ? 'the ledger holds no usage that fits' : `the ledger held no usage that fits at ${asOf}`);
    noteNearTenants(cli, connection, filters);
  };
  if (format !== 'json' && format !== 'table') {
    if ((await putSheet(cli, sheetOf('usage', COLUMNS, first), { format, options })) === 0) noteNone();
    noteMore(cli, left.out);
    return;
  }
  if (format === 'json') {
    const given = { workspace_id: workspaceId ?? null, tenant_id: tenantId ?? null, period: period ?? null };
    const seen = { rows: 0 };
    const pieces = documentPieces({ ...(asOf === null ? {} : { as_of: asOf }), filters: given }, counted(first, seen));
    await putPieces(cli, pieces, options);
    if (seen.rows + left.out === 0) noteNone();
    noteMore(cli, left.out);
    return;
  }
  const rows = [...first];
  if (rows.length + left.out === 0) noteNone();
  if (rows.length > 0 || options.out !== undefined) {
    const columns = tableColumns(rows, asOf === null ? context.clock.now() : Date.parse(asOf));
    await putTable(cli, renderTable(rows, columns, cli.tableOptions), options);
  }
  noteMore(cli, left.out);
}

/** What the ledger said at some time, with today's names. */
function* eachRowAsOf(connection: LedgerConnection, asOf: string, filters: UsageFilters): Generator<UsageRow> {
  const nameOf = tenantNames(connection, filters);
  for (const { closed, ...row } of usageAsOf(connection, asOf, filters)) {
    yield { ...row, display_name: nameOf(row.workspace_id, row.tenant_id) };
  }
}

function* counted<Row>(rows: Iterable<Row>, seen: { rows: number }): Generator<Row> {
  for (const row of rows) {
    seen.rows += 1;
    yield row;
  }
}

/** The first rows; those that are left out are counted. */
function* firstOf<Row>(rows: Iterable<Row>, limit: number | undefined, left: { out: number }): Generator<Row> {
  let taken = 0;
  for (const row of rows) {
    if (limit === undefined || taken < limit) yield row;
    else left.out += 1;
    taken += 1;
  }
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

const COLUMNS = [
  { name: 'workspace_id', kind: 'text' },
  { name: 'tenant_id', kind: 'text' },
  { name: 'period', kind: 'text' },
  { name: 'period_start', kind: 'time' },
  { name: 'period_end', kind: 'time' },
  { name: 'credits_used', kind: 'integer' },
  { name: 'request_count', kind: 'integer' },
  { name: 'state', kind: 'text' },
  { name: 'first_seen_at', kind: 'time' },
  { name: 'changed_at', kind: 'time' },
  { name: 'withdrawn', kind: 'flag' },
  { name: 'display_name', kind: 'text' },
] as const;

function tableColumns(rows: readonly UsageRow[], nowMs: number): TableColumn<UsageRow>[] {
  const isNamed = rows.some(({ display_name }) => display_name !== null);
  return [
    { key: 'workspace_id', header: 'Workspace' },
    { key: 'period', header: 'Period' },
    { key: 'tenant_id', header: 'Tenant' },
    ...(isNamed ? [{ key: 'display_name', header: 'Name' } as const] : []),
    { key: 'credits_used', header: 'Credits', align: 'right' },
    { key: 'request_count', header: 'Requests', align: 'right' },
    { key: 'state', header: 'State', format: (state, row) => (row.withdrawn ? `${state}, withdrawn` : state) },
    { key: 'changed_at', header: 'Changed', format: (at) => relativeTime(Date.parse(at), nowMs) },
  ];
}
