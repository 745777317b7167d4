import type { Command } from 'commander';
import { writeSample } from '../config/sample.ts';
import { type CliContext, examples, reportingCommand } from './shared/cli-context.ts';

export function initCommand(cli: CliContext): Command {
  return reportingCommand('init', { config: false })
    .addHelpText('after', examples('usage-ledger init', 'cp .env.example .env && chmod 600 .env'))
    .action(() => init(cli));
}

function init(cli: CliContext): void {
  const { written, kept } = writeSample(cli.io.cwd);
  if (cli.json) {
    cli.printJson({ written, kept });
    return;
  }
  for (const file of written) cli.print(`wrote ${file}`);
  for (const file of kept) cli.print(`kept ${file}, which was there already`);
  cli.note('Next: copy .env.example to .env, fill it in, and run `usage-ledger doctor`.');
}
