import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { pushOutlets } from '../../operations/outlets/push-outlets.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand, withStopSignal } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';

export function pushCommand(cli: CliContext): CliCommand {
  return reportingCommand('push')
    .description('Send waiting events now, as the daemon does on its own.')
    .argument('[name]', 'the outlet (default: all)')
    .examples('usage-ledger outlets push')
    .action((name: string | undefined) =>
      cli.withContext(async (context) => {
        const document = await withStopSignal(async (signal) => {
          return (await pushOutlets.run(scopeOf(context, { signal }), { name })).document;
        });
        const pushed = document.outlets;
        const hasFailed = pushed.some(({ fault, reason }) => fault !== null || reason !== null);
        if (hasFailed) cli.exitCode = EXIT.failed;
        const lines = pushed.map(({ name, taken, fault, reason }) => {
          const why = fault ?? reason;
          return `${name}: ${counted(taken, 'event')} sent${why === null ? '' : `; ${inertText(why)}`}`;
        });
        cli.printResult(document, lines);
      }),
    );
}
