import { once } from 'node:events';
import { resolve } from 'node:path';
import { describeSandbox, startSandbox } from '../../sandbox/server.ts';
import { defaultScenario, loadScenario } from '../../sandbox/world/scenario.ts';
import { CliCommand, type CliContext, withStopSignal } from '../shared/cli-context.ts';
import { parseWholeNumber } from '../shared/options.ts';

interface SandboxCommandOptions {
  port?: string;
  scenario?: string;
}

export function sandboxCommand(cli: CliContext): CliCommand {
  return new CliCommand('sandbox')
    .option('--port <number>', 'port on 127.0.0.1 (default: any free one)')
    .option('--scenario <file>', 'the data to serve, YAML or JSON (default: 50 tenants, six months)')
    .examples('usage-ledger sandbox', 'usage-ledger sandbox --port 8787 --scenario ./scenario.yml > sandbox.yml')
    .action((options: SandboxCommandOptions) => withStopSignal((signal) => serveSandbox(cli, options, signal)));
}

async function serveSandbox(
  cli: CliContext,
  { port = '0', scenario: file }: SandboxCommandOptions,
  stop: AbortSignal,
): Promise<void> {
  const scenario = file === undefined ? defaultScenario : loadScenario(resolve(cli.io.cwd, file));
  const sandbox = await startSandbox({
    port: parseWholeNumber(port, '--port', 0, 65_535),
    scenario,
    keepRequests: 0,
  });
  try {
    for (const line of describeSandbox(sandbox)) cli.print(line);
    cli.note(`serving on ${sandbox.url}; stop with Ctrl-C`);
    if (!stop.aborted) await once(stop, 'abort');
  } finally {
    await sandbox.close();
  }
}
