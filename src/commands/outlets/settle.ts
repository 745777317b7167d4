import { Option } from 'commander';
import { parsePeriod } from '../../core/period.ts';
import { counted } from '../../core/text/words.ts';
import { ALL_ROWS } from '../../operations/operation.ts';
import { EVENT_COLUMNS, EXCEPTION_STATES, listEvents, settleEvents } from '../../operations/outlets/settle-events.ts';
import { type CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { BY_OPTION, parseWholeNumber, printRows } from '../shared/options.ts';

interface SettleOptions {
  entry?: number[];
  tenant?: string;
  period?: string;
  state?: (typeof EXCEPTION_STATES)[number];
  note?: string;
  resend?: boolean;
  by?: string;
}

export function settleCommand(cli: CliContext): CliCommand {
  return reportingCommand('settle')
    .description(
      'Show events that the receiver does not have; settle them with --note, or send them again with --resend.',
    )
    .argument('<name>', 'the outlet')
    .option('--entry <id>', 'this entry; may be given several times', collect)
    .option('--tenant <id>', 'only this tenant')
    .option('--period <period>', 'only this month, YYYY-MM')
    .addOption(new Option('--state <state>', 'only events in this state').choices(EXCEPTION_STATES))
    .option('--note <text>', 'mark them as settled by other means, such as a credit note, and name these')
    .option('--resend', 'send them again, after the cause was fixed')
    .option(...BY_OPTION)
    .examples(
      'usage-ledger outlets settle billing',
      'usage-ledger outlets settle billing --tenant acme --period 2026-08 --note "credit note CN-12" --by "Ada"',
    )
    .action((name: string, options: SettleOptions) =>
      cli.withContext(async (context) => {
        const { entry: entries, tenant, state, note, resend = false } = options;
        const period = options.period === undefined ? undefined : parsePeriod(options.period, '--period');
        const wanted = { name, entries, tenant, period, state };
        const scope = scopeOf(context, options);
        if (note === undefined && !resend) {
          const { head, rows } = listEvents.run(scope, wanted, ALL_ROWS);
          return printRows(cli, [...rows], EVENT_COLUMNS, head);
        }
        const { document } = await settleEvents.run(scope, { ...wanted, note, resend });
        const what = resend ? 'will be sent again' : 'settled';
        cli.printResult(document, [`${name}: ${counted(document.events, 'event')} ${what}`]);
      }),
    );
}

function collect(text: string, before: number[] | undefined): number[] {
  return [...(before ?? []), parseWholeNumber(text, '--entry', 1, Number.MAX_SAFE_INTEGER)];
}
