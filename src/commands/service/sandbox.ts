import { once } from 'node:events';
import { describeSandbox, startSandbox } from '../../sandbox/server.ts';
import { CliCommand, type CliContext } from '../shared/cli-context.ts';
import { parseWholeNumber } from '../shared/options.ts';
import { withStopSignal } from '../shared/stop-signal.ts';

export function sandboxCommand(cli: CliContext): CliCommand {
  return new CliCommand('sandbox')
    .option('--port <number>', 'port on 127.0.0.1 (default: any free one)')
    .examples('usage-ledger sandbox', 'usage-ledger sandbox --port 8787 > sandbox.yml')
    .action(({ port = '0' }: { port?: string }) => withStopSignal((signal) => serve(cli, port, signal)));
}

async function serve(cli: CliContext, port: string, stop: AbortSignal): Promise<void> {
  const sandbox = await startSandbox({ port: parseWholeNumber(port, '--port', 0, 65_535), keepRequests: 0 });
  try {
    for (const line of describeSandbox(sandbox)) cli.print(line);
    cli.note(`serving on ${sandbox.url}; Ctrl-C stops it`);
    if (!stop.aborted) await once(stop, 'abort');
  } finally {
    await sandbox.close();
  }
}
