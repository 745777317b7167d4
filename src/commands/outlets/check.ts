import { parsePeriod } from '../../core/period.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { checkOutlets } from '../../operations/outlets/check-outlets.ts';
import type { OutletDifference } from '../../outlets/read-back.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand, withStopSignal } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';

export function checkOutletsCommand(cli: CliContext): CliCommand {
  return reportingCommand('check')
    .description('Compare a month in the receivers with what was sent. Exit code 4: they differ.')
    .argument('<period>', 'the month, YYYY-MM')
    .argument('[name]', 'the outlet (default: all)')
    .examples('usage-ledger outlets check 2026-10')
    .action((text: string, name: string | undefined) =>
      cli.withContext(async (context) => {
        const period = parsePeriod(text);
        const document = await withStopSignal(async (signal) =>
          checkOutlets.run(scopeOf(context, { signal }), { period, name }),
        );
        const checks = document.outlets;
        if (checks.some(({ differences }) => differences.length > 0)) cli.exitCode = EXIT.fault;
        const lines = checks.flatMap(({ name: outlet, customers, differences }) => [
          ...differences.map((difference) => `${outlet}: ${inertText(outletDifferenceText(difference))}`),
          customers === null
            ? `${outlet}: cannot be compared, its receiver has no query API`
            : `${outlet}: ${counted(customers, 'customer')} compared, ${differences.length} differ`,
        ]);
        cli.printResult(document, lines);
      }),
    );
}

function outletDifferenceText({
  customer,
  period,
  ledger,
  receiver,
  tenants,
  entry_ids: entries,
}: OutletDifference): string {
  const names = tenants.map(({ workspace_id: workspace, tenant_id: tenant }) => `${tenant} in ${workspace}`).join(', ');
  const last = entries.length === 0 ? '' : `; last entries ${entries.slice(0, 5).join(', ')}`;
  return `${customer} in ${period}: sent ${ledger}, the receiver has ${receiver} (${names || 'no tenant'}${last})`;
}
