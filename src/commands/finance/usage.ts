import { isoTime } from '../../core/clock.ts';
import { usageAsOf } from '../../ledger/journal/runs/as-of.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { tenantNameLookup } from '../../ledger/store/tenant-names.ts';
import { eachUsageRow, USAGE_COLUMNS, type UsageFilters, type UsageRow } from '../../reports/queries/usage.ts';
import type { Context } from '../../wiring/context.ts';
import { noteMissingTenant, requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { type CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { addPeriodOptions, chosenPeriods, LIMIT_OPTION, type PeriodOptions, parseMoment } from '../shared/options.ts';
import { addSheetOptions, LISTING_FORMAT, type ListingOptions, writeListing } from './sheet-output.ts';

interface UsageOptions extends ListingOptions, PeriodOptions {
  tenant?: string;
  workspace?: string;
  asOf?: string;
}

export function usageCommand(cli: CliContext): CliCommand {
  const command = addPeriodOptions(reportingCommand('usage'))
    .option('--tenant <id>', 'only this tenant')
    .option('--workspace <id>', 'only this workspace')
    .option('--as-of <timestamp>', 'the figures at this time, such as 2026-03-05T12:00:00Z')
    .option(...LIMIT_OPTION)
    .addOption(LISTING_FORMAT);
  return addSheetOptions(command)
    .examples(
      'usage-ledger usage --period 2026-02',
      'usage-ledger usage --period 2026-02 --format xlsx --out february.xlsx',
      'usage-ledger usage --period 2026-02 --as-of 2026-03-05T12:00:00Z',
    )
    .action((options: UsageOptions) => cli.withContext((context) => showUsage(cli, context, options)));
}

async function showUsage(cli: CliContext, context: Context, options: UsageOptions): Promise<void> {
  const { workspace: workspaceId, tenant: tenantId } = options;
  const period = chosenPeriods(options);
  requireKnownWorkspace(context, workspaceId);
  const asOf = options.asOf === undefined ? null : isoTime(parseMoment('--as-of', options.asOf));
  const { connection } = context.reader();
  const filters = { workspaceId, tenantId, period };
  const rows = asOf === null ? eachUsageRow(connection, filters) : eachRowAsOf(connection, asOf, filters);
  const requested = {
    workspace_id: workspaceId ?? null,
    tenant_id: tenantId ?? null,
    period: options.period ?? null,
    from: options.from ?? null,
    to: options.to ?? null,
  };
  const head = { ...(asOf === null ? {} : { as_of: asOf }), filters: requested };
  if ((await writeListing(cli, { name: 'usage', columns: USAGE_COLUMNS, rows, head }, options)) > 0) return;
  cli.note(asOf === null ? 'no usage matches' : `no usage matches as of ${asOf}`);
  noteMissingTenant(cli, connection, filters);
}

function* eachRowAsOf(connection: LedgerDb, asOf: string, filters: UsageFilters): Generator<UsageRow> {
  const nameOf = tenantNameLookup(connection, filters);
  for (const { closed, ...row } of usageAsOf(connection, asOf, filters)) {
    yield { ...row, display_name: nameOf(row.workspace_id, row.tenant_id) };
  }
}
