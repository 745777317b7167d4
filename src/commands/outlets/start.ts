import { parsePeriod } from '../../core/period.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted, firstOf } from '../../core/text/words.ts';
import { chooseOutlet } from '../../operations/outlets/chosen-outlets.ts';
import { startOutlet } from '../../operations/outlets/start-outlet.ts';
import { renderTable } from '../../reports/formats/table.ts';
import { type CliCommand, type CliContext, reportingCommand, withStopSignal } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { BY_OPTION } from '../shared/options.ts';

interface StartOptions {
  from?: string;
  yes?: boolean;
  by?: string;
}

const MAX_NAMED_TENANTS = 10;

export function startCommand(cli: CliContext): CliCommand {
  return reportingCommand('start')
    .description('Show what would be sent, by month, and which tenants have no name in the receiver; start with --yes.')
    .argument('<name>', 'the outlet')
    .option('--from <period>', 'the first month to send, YYYY-MM (default: its `from_period`)')
    .option('--yes', 'start sending; without this it is only shown')
    .option(...BY_OPTION)
    .examples('usage-ledger outlets start billing --from 2026-10', 'usage-ledger outlets start billing --yes')
    .action((name: string, { from, yes = false, by }: StartOptions) =>
      cli.withContext(async (context) => {
        const input = { name, from: from === undefined ? undefined : parsePeriod(from, '--from'), dry_run: !yes };
        const { document } = await withStopSignal((signal) => startOutlet.run(scopeOf(context, { by, signal }), input));
        if (cli.json) {
          cli.printJson(document);
          return;
        }
        const { from_period: fromPeriod, months, tenants_without_name: unmapped } = document;
        const { send, customer } = chooseOutlet(context.config, name);
        cli.print(
          renderTable<(typeof months)[number]>(
            months,
            [
              { name: 'period', header: 'Month' },
              { name: 'events', header: 'Events', kind: 'count' },
              { name: send, header: send === 'credits' ? 'Credits' : 'Requests', kind: 'credits' },
              { name: 'held', header: 'Held', kind: 'count' },
              { name: 'late', header: 'Late', kind: 'count' },
            ],
            cli.tableOptions,
          ),
        );
        if (unmapped.length > 0) {
          const names = firstOf(
            unmapped.map(({ tenant_id: id }) => inertText(id)),
            MAX_NAMED_TENANTS,
          );
          cli.print(`${counted(unmapped.length, 'tenant')} without ${customer}, held until set: ${names}`);
        }
        const next = cli.commandLine(`outlets start ${name} --from ${fromPeriod} --yes`);
        cli.print(
          yes
            ? `${name} started: the daemon sends, or run \`usage-ledger outlets push\``
            : `Nothing sent. To start, run:\n  ${next}`,
        );
      }),
    );
}
