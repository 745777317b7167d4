import { parsePeriod } from '../../core/period.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { checkOutlet, type OutletDifference } from '../../outlets/read-back.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand, withStopSignal } from '../shared/cli-context.ts';
import { chosenOutlets, requireBegun, withReceiver } from './chosen.ts';

export function checkCommand(cli: CliContext): CliCommand {
  return reportingCommand('check')
    .description('Compare what the receivers have of a month with what was sent. Exit code 4: they differ.')
    .argument('<period>', 'the month, YYYY-MM')
    .argument('[name]', 'the outlet (default: all)')
    .examples('usage-ledger outlets check 2026-10')
    .action((text: string, name: string | undefined) =>
      cli.withContext(async (context) => {
        const period = parsePeriod(text);
        const { connection } = context.reader();
        const checks = [];
        for (const outlet of chosenOutlets(context.config, name)) {
          requireBegun(context, outlet.name);
          const compare = (signal: AbortSignal) =>
            withReceiver(context, outlet, (receiver) => checkOutlet({ outlet, receiver, connection }, period, signal));
          checks.push({ name: outlet.name, period, ...(await withStopSignal(compare)) });
        }
        if (checks.some(({ differences }) => differences.length > 0)) cli.exitCode = EXIT.fault;
        const lines = checks.flatMap(({ name: of, customers, differences }) => [
          ...differences.map((difference) => `${of}: ${inertText(words(difference))}`),
          customers === null
            ? `${of}: its receiver cannot be asked what it has`
            : `${of}: ${counted(customers, 'customer')} compared, ${differences.length} differ`,
        ]);
        cli.answer({ outlets: checks }, lines);
      }),
    );
}

function words({ customer, period, ledger, receiver, tenants, entry_ids: entries }: OutletDifference): string {
  const who = tenants.map(({ workspace_id: workspace, tenant_id: tenant }) => `${tenant} of ${workspace}`).join(', ');
  const last = entries.length === 0 ? '' : `; last entries ${entries.slice(0, 5).join(', ')}`;
  return `${customer} in ${period}: ${ledger} was sent, the receiver has ${receiver} (${who || 'no tenant'}${last})`;
}
