import type { OutletConfig } from '../../config/types.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { chosenOutlets } from '../../operations/outlets/chosen-outlets.ts';
import { Forwarder } from '../../outlets/forwarder.ts';
import { outletStatuses } from '../../outlets/outlet-status.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand, withStopSignal } from '../shared/cli-context.ts';
import { withReceiver } from './chosen.ts';

export function pushCommand(cli: CliContext): CliCommand {
  return reportingCommand('push')
    .description('Send waiting events now, as the daemon does on its own.')
    .argument('[name]', 'the outlet (default: all)')
    .examples('usage-ledger outlets push')
    .action((name: string | undefined) =>
      cli.withContext(async (context) => {
        const pushed = [];
        for (const outlet of chosenOutlets(context.config, name)) pushed.push(await push(context, outlet));
        const hasFailed = pushed.some(({ fault, reason }) => fault !== null || reason !== null);
        if (hasFailed) cli.exitCode = EXIT.failed;
        const lines = pushed.map(({ name, taken, fault, reason }) => {
          const why = fault ?? reason;
          return `${name}: ${counted(taken, 'event')} sent${why === null ? '' : `; ${inertText(why)}`}`;
        });
        cli.printResult({ outlets: pushed }, lines);
      }),
    );
}

/** Sends until no event is ready, or the receiver rejects one. */
function push(context: Context, outlet: OutletConfig) {
  const { connection } = context.reader();
  const { clock } = context;
  return withReceiver(context, outlet, (receiver) =>
    withStopSignal(async (signal) => {
      const writer = () => context.writer();
      const sweep = new Forwarder({ outlet, receiver, ledgerId: ledgerId(connection), connection, writer, clock });
      let taken = 0;
      let fault: string | null = null;
      for (const step of [() => sweep.step(signal), () => sweep.stepHeld(signal)]) {
        let more = fault === null;
        while (more) {
          const report = await step();
          signal.throwIfAborted();
          taken += report.taken;
          fault = report.fault?.answer ?? fault;
          more = report.more && report.fault === null;
        }
      }
      const [standing] = outletStatuses(connection, [outlet]);
      return { name: outlet.name, taken, fault, reason: standing?.reason ?? null };
    }),
  );
}
