import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import type { Context } from '../../wiring/context.ts';
import { type CliContext, examples, reportingCommand } from '../shared/cli-context.ts';

export function migrateCommand(cli: CliContext): Command {
  return reportingCommand('migrate')
    .addHelpText('after', examples('usage-ledger migrate', 'usage-ledger migrate --json'))
    .action(() => cli.withContext((context) => migrate(cli, context), { writes: true }));
}

async function migrate(cli: CliContext, context: Context): Promise<void> {
  const { path } = context.config.ledger;
  const existed = existsSync(path);
  const { applied, backup } = (await context.writer()).migration;
  const outcome = applied === 0 ? 'current' : existed ? 'migrated' : 'created';
  if (cli.json) {
    cli.printJson({ ledger: path, outcome, migrations_applied: applied, backup });
    return;
  }
  if (outcome === 'current') cli.print(`${path} is already current`);
  if (outcome === 'created') cli.print(`created ${path}`);
  if (outcome === 'migrated') cli.print(`${path} has been brought to this version (migrations applied: ${applied})`);
  if (backup !== null) cli.print(`as it was before: ${backup}`);
}
