import { isoTime } from '../../core/clock.ts';
import { ALL_ROWS } from '../../operations/operation.ts';
import { listUsage } from '../../operations/usage/list-usage.ts';
import { USAGE_COLUMNS } from '../../reports/queries/usage.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { noteMissingTenant } from '../shared/missing-tenant.ts';
import { addPeriodOptions, LIMIT_OPTION, type PeriodOptions, parseMoment, parsePeriods } from '../shared/options.ts';
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
  const { workspace, tenant } = options;
  const scope = scopeOf(context);
  const asOfMs = options.asOf === undefined ? undefined : parseMoment('--as-of', options.asOf);
  const input = { workspace, tenant, ...parsePeriods(options), as_of: asOfMs };
  const { head, rows } = listUsage.run(scope, input, ALL_ROWS);
  if ((await writeListing(cli, { name: 'usage', columns: USAGE_COLUMNS, rows, head }, options)) > 0) return;
  cli.note(asOfMs === undefined ? 'no usage matches' : `no usage matches as of ${isoTime(asOfMs)}`);
  noteMissingTenant(cli, scope.connection, { tenantId: tenant, workspaceId: workspace });
}
