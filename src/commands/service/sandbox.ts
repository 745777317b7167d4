import { once } from 'node:events';
import { resolve } from 'node:path';
import { createLogger } from '../../core/logger.ts';
import { describeSandbox, startSandbox } from '../../sandbox/server.ts';
import { loadScenario } from '../../sandbox/world/scenario.ts';
import { CliCommand, type CliContext } from '../shared/cli-context.ts';
import { parseWholeNumber } from '../shared/options.ts';
import { withStopSignal } from '../shared/stop-signal.ts';

interface SandboxCommandOptions {
  port?: string;
  scenario?: string;
}

export function sandboxCommand(cli: CliContext): CliCommand {
  return new CliCommand('sandbox')
    .option('--port <number>', 'port on 127.0.0.1 (default: any free one)')
    .option('--scenario <file>', 'what it serves, YAML or JSON (default: 50 tenants, six months)')
    .examples(
      'usage-ledger sandbox',
      'usage-ledger sandbox --port 8787 --scenario ./scenario.yml',
      'usage-ledger sandbox --port 8787 > sandbox.yml',
    )
    .action((options: SandboxCommandOptions) => withStopSignal((signal) => serve(cli, options, signal)));
}

async function serve(cli: CliContext, options: SandboxCommandOptions, stop: AbortSignal): Promise<void> {
  const port = options.port === undefined ? 0 : parseWholeNumber(options.port, '--port', 0, 65_535);
  const scenario = options.scenario === undefined ? undefined : loadScenario(resolve(cli.io.cwd, options.scenario));
  const sandbox = await startSandbox({
    port,
    ...(scenario === undefined ? {} : { scenario }),
    logger: cli.io.overrides?.logger ?? createLogger({ destination: cli.logDestination }),
    keepRequests: 0,
  });
  try {
    for (const line of describeSandbox(sandbox)) cli.print(line);
    cli.note(`serving on ${sandbox.url}; Ctrl-C stops it`);
    if (!stop.aborted) await once(stop, 'abort');
  } finally {
    await sandbox.close();
  }
}
