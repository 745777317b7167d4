import { UsageError } from '../core/errors.ts';
import { localUrl } from '../core/net/public-address.ts';
import { readPagesToken } from '../daemon/http/pages-token.ts';
import { type CliCommand, type CliContext, reportingCommand } from './shared/cli-context.ts';

export function openCommand(cli: CliContext): CliCommand {
  return reportingCommand('open')
    .examples('usage-ledger open', 'xdg-open "$(usage-ledger open)"')
    .action(async () => {
      const { http } = await cli.loadConfig();
      if (http.port === 0)
        throw new UsageError('the pages are switched off', 'set http.port in the configuration, and restart');
      const address = http.publicUrl ?? localUrl(http.host, http.port);
      const url = `${address}/?token=${encodeURIComponent(readPagesToken(http))}`;
      // Not by what takes secrets out: this one is asked for.
      cli.io.stdout.write(cli.json ? `${JSON.stringify({ url })}\n` : `${url}\n`);
    });
}
