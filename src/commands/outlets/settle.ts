import { UsageError } from '../../core/errors.ts';
import { parsePeriod } from '../../core/period.ts';
import { systemUser } from '../../core/process/system-user.ts';
import { counted } from '../../core/text/words.ts';
import { readOutletEvents } from '../../ledger/journal/outlets/outlet-book.ts';
import type { Column } from '../../reports/formats/columns.ts';
import { type CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { BY_OPTION, parseWholeNumber, printRows } from '../shared/options.ts';
import { requireStarted } from './chosen.ts';

interface SettleOptions {
  entry?: number[];
  tenant?: string;
  period?: string;
  state?: string;
  note?: string;
  resend?: boolean;
  by?: string;
}

type EventRow = ReturnType<typeof readOutletEvents>[number];

const SETTLE_COLUMNS: readonly Column<EventRow>[] = [
  { name: 'entry_id', kind: 'count', header: 'Entry' },
  { name: 'state', kind: 'text', header: '' },
  { name: 'workspace_id', kind: 'id', header: 'Workspace' },
  { name: 'tenant_id', kind: 'id', header: 'Tenant' },
  { name: 'period', kind: 'text', header: 'Month' },
  { name: 'credits_delta', kind: 'credits', header: 'Credits' },
  { name: 'requests_delta', kind: 'count', header: 'Requests' },
  { name: 'reason', kind: 'text', header: 'Reason' },
  { name: 'since', kind: 'date' },
];

export function settleCommand(cli: CliContext): CliCommand {
  return reportingCommand('settle')
    .description(
      'Show events that the receiver does not have; settle them with --note, or send them again with --resend.',
    )
    .argument('<name>', 'the outlet')
    .option('--entry <id>', 'this entry; may be given several times', collect)
    .option('--tenant <id>', 'only this tenant')
    .option('--period <period>', 'only this month, YYYY-MM')
    .option('--state <state>', 'only events in this state: late, refused or held')
    .option('--note <text>', 'mark them as settled by other means, such as a credit note number')
    .option('--resend', 'send them again, after the cause was fixed')
    .option(...BY_OPTION)
    .examples(
      'usage-ledger outlets settle billing',
      'usage-ledger outlets settle billing --tenant acme --period 2026-08 --note "credit note CN-12" --by "Ada"',
    )
    .action((name: string, options: SettleOptions) =>
      cli.withContext(async (context) => {
        const { entry, tenant, state, note, resend = false, by = systemUser() } = options;
        if (note !== undefined && resend) throw new UsageError('--note conflicts with --resend', 'use one of them');
        requireStarted(context, name);
        const period = options.period === undefined ? undefined : parsePeriod(options.period, '--period');
        const rows = readOutletEvents(context.reader().connection, { outlet: name, tenant, period, state }).filter(
          ({ entry_id: id }) => entry === undefined || entry.includes(id),
        );
        if (note === undefined && !resend) return printRows(cli, rows, SETTLE_COLUMNS, { name });
        const request = {
          name,
          entryIds: rows.map(({ entry_id: id }) => id),
          note: note ?? null,
          by,
          nowMs: context.clock.now(),
        };
        const settled = await (await context.existingWriter()).settleEvents(request);
        const what = resend ? 'will be sent again' : 'settled';
        cli.printResult({ name, events: settled, note: note ?? null, by }, [
          `${name}: ${counted(settled, 'event')} ${what}`,
        ]);
      }),
    );
}

function collect(text: string, before: number[] | undefined): number[] {
  return [...(before ?? []), parseWholeNumber(text, '--entry', 1, Number.MAX_SAFE_INTEGER)];
}
