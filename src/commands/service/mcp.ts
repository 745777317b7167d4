import { serveMcpOverStdio } from '../../daemon/mcp/mcp-stdio.ts';
import { type CliCommand, type CliContext, plainCommand, withStopSignal } from '../shared/cli-context.ts';

export function mcpCommand(cli: CliContext): CliCommand {
  return plainCommand('mcp')
    .examples('usage-ledger mcp --config /srv/usage-ledger/usage-ledger.yml')
    .action(() =>
      cli.withContext((context) => {
        cli.note('serving MCP on stdin and stdout, for an assistant that starts this command; stop with Ctrl-C');
        // The streams are passed directly, because only the protocol may appear on stdout.
        return withStopSignal((stop) =>
          serveMcpOverStdio(context, { input: process.stdin, output: process.stdout, stop }),
        );
      }),
    );
}
