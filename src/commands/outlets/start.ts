import { UsageError } from '../../core/errors.ts';
import { parsePeriod } from '../../core/period.ts';
import { systemUser } from '../../core/process/system-user.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted, firstOf } from '../../core/text/words.ts';
import { readOutlet } from '../../ledger/journal/outlets/outlet-book.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { chosenOutlet } from '../../operations/outlets/chosen-outlets.ts';
import { receiverKind } from '../../outlets/forwarder.ts';
import { previewStart } from '../../outlets/preview.ts';
import { renderTable } from '../../reports/formats/table.ts';
import { type CliCommand, type CliContext, reportingCommand, withStopSignal } from '../shared/cli-context.ts';
import { BY_OPTION } from '../shared/options.ts';
import { withReceiver } from './chosen.ts';

interface StartOptions {
  from?: string;
  yes?: boolean;
  by?: string;
}

const MAX_NAMED_TENANTS = 10;

export function startCommand(cli: CliContext): CliCommand {
  return reportingCommand('start')
    .description('Show what would be sent, by month, and which tenants have no name there; start with --yes.')
    .argument('<name>', 'the outlet')
    .option('--from <period>', 'the first month to send, YYYY-MM (default: its `from_period`)')
    .option('--yes', 'start sending; without this it is only shown')
    .option(...BY_OPTION)
    .examples('usage-ledger outlets start billing --from 2026-10', 'usage-ledger outlets start billing --yes')
    .action((name: string, { from, yes = false, by = systemUser() }: StartOptions) =>
      cli.withContext(async (context) => {
        const outlet = chosenOutlet(context.config, name);
        const first = from ?? outlet.fromPeriod;
        if (first === null) throw new UsageError('no first month', 'add --from YYYY-MM, or set `from_period:`');
        const fromPeriod = parsePeriod(first, '--from');
        const { connection } = context.reader();
        const before = readOutlet(connection, name);
        if (before !== undefined && before.receiver !== receiverKind(outlet)) {
          throw new UsageError(
            `${name} was started with receiver ${before.receiver}`,
            'use another name for another receiver',
          );
        }
        const { workspaces } = outlet;
        const nowMs = context.clock.now();
        const scope = { ledgerId: ledgerId(connection), fromPeriod, workspaces };
        const preview = await withReceiver(context, outlet, async (receiver) => {
          await withStopSignal((signal) => receiver.probe(signal));
          return previewStart(connection, { outlet, scope, before, limits: receiver.limits }, nowMs);
        });
        if (yes) {
          const request = { name, receiver: receiverKind(outlet), workspaces, fromPeriod, by, nowMs };
          await (await context.existingWriter()).startOutlet(request);
        }
        const months = preview.months.map(({ quantity, ...month }) => ({ ...month, [outlet.send]: quantity }));
        const unmapped = preview.unmapped.map(({ workspaceId, tenantId }) => {
          return { workspace_id: workspaceId, tenant_id: tenantId };
        });
        if (cli.json) {
          cli.printJson({ name, started: yes, from_period: fromPeriod, months, tenants_without_name: unmapped });
          return;
        }
        cli.print(
          renderTable(
            preview.months,
            [
              { name: 'period', header: 'Month' },
              { name: 'events', header: 'Events', kind: 'count' },
              { name: 'quantity', header: outlet.send === 'credits' ? 'Credits' : 'Requests', kind: 'credits' },
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
          cli.print(`${counted(unmapped.length, 'tenant')} without ${outlet.customer}, held until set: ${names}`);
        }
        const next = `\`usage-ledger outlets start ${name} --from ${fromPeriod} --yes\``;
        cli.print(
          yes
            ? `${name} started: the daemon sends, or run \`usage-ledger outlets push\``
            : `Nothing sent. To start, run ${next}.`,
        );
      }),
    );
}
