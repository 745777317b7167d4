import { inertText } from '../../core/text/inert-text.ts';
import { requireOutlets } from '../../operations/outlets/chosen-outlets.ts';
import { listOutlets } from '../../operations/outlets/list-outlets.ts';
import { pauseOutlet, resumeOutlet } from '../../operations/outlets/pause-outlet.ts';
import { formatInteger } from '../../reports/formats/columns.ts';
import { renderTable } from '../../reports/formats/table.ts';
import { CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { BY_OPTION } from '../shared/options.ts';
import { checkOutletsCommand } from './check.ts';
import { pushCommand } from './push.ts';
import { settleCommand } from './settle.ts';
import { startCommand } from './start.ts';

export function outletsCommand(cli: CliContext): CliCommand {
  return new CliCommand('outlets')
    .addCommand(outletStatusCommand(cli))
    .addCommand(startCommand(cli))
    .addCommand(pushCommand(cli))
    .addCommand(checkOutletsCommand(cli))
    .addCommand(pauseCommand(cli))
    .addCommand(resumeOutletCommand(cli))
    .addCommand(settleCommand(cli))
    .examples('usage-ledger outlets start billing --from 2026-10', 'usage-ledger outlets check 2026-10');
}

const OUTLET_STATES = {
  sending: 'sending',
  paused: 'PAUSED',
  not_started: 'not started',
  differs: 'NOT SENT',
} as const;

function outletStatusCommand(cli: CliContext): CliCommand {
  return reportingCommand('status')
    .description('Show each outlet: its state, waiting events, and events that its receiver does not have.')
    .examples('usage-ledger outlets status --json')
    .action(() =>
      cli.withContext(async (context) => {
        requireOutlets(context.config);
        const { outlets: rows } = await listOutlets.run(scopeOf(context), {});
        if (cli.json) return cli.printJson({ outlets: rows });
        cli.print(
          renderTable(
            rows,
            [
              { name: 'name', header: 'Outlet' },
              { name: 'receiver', header: 'Receiver', wide: true },
              { name: 'send', header: 'Sends' },
              { name: 'state', header: '', words: (state) => OUTLET_STATES[state] },
              { name: 'from_period', header: 'From' },
              { name: 'waiting', header: 'Waiting', kind: 'count' },
              { name: 'held', header: 'Held', kind: 'count' },
              { name: 'late', header: 'Late', kind: 'count' },
              { name: 'refused', header: 'Refused', kind: 'count' },
              { name: 'settled', header: 'Settled', kind: 'count' },
              { name: 'checked_at', header: 'Compared', kind: 'date', sparse: true },
            ],
            cli.tableOptions,
          ),
        );
        for (const { name, reason, differences } of rows) {
          if (reason !== null) cli.print(`${name}: ${inertText(reason)}`);
          if (differences !== null) {
            cli.print(
              `${name}: ${formatInteger(differences.length)} differ; list them with \`usage-ledger outlets check\``,
            );
          }
        }
      }),
    );
}

function pauseCommand(cli: CliContext): CliCommand {
  return reportingCommand('pause')
    .description('Stop sending until it is resumed. Waiting events stay in the ledger.')
    .argument('<name>', 'the outlet')
    .requiredOption('--note <text>', 'reason')
    .option(...BY_OPTION)
    .examples('usage-ledger outlets pause billing --note "price change"')
    .action((name: string, { note, by }: { note: string; by?: string }) =>
      cli.withContext(async (context) => {
        const { document } = await pauseOutlet.run(scopeOf(context, { by }), { name, note });
        cli.printResult(document, [`${name} paused`]);
      }),
    );
}

interface ResumeOptions {
  taken?: boolean;
  resend?: boolean;
}

function resumeOutletCommand(cli: CliContext): CliCommand {
  return reportingCommand('resume')
    .description(
      'Resume sending. Events of unknown delivery are looked up in the receiver; without a query API, use --taken or --resend.',
    )
    .argument('<name>', 'the outlet')
    .option('--taken', 'the receiver has the events of unknown delivery: continue after them')
    .option('--resend', 'the receiver has none of the events of unknown delivery: send them again')
    .examples('usage-ledger outlets resume billing')
    .action((name: string, { taken = false, resend = false }: ResumeOptions) =>
      cli.withContext(async (context) => {
        const perhaps = taken ? 'taken' : resend ? 'resend' : 'ask';
        const { document, notes } = await resumeOutlet.run(scopeOf(context), { name, perhaps });
        cli.printResult(document, [document.perhaps === undefined ? null : `${name} resumed`, ...notes]);
      }),
    );
}
