import { existsSync } from 'node:fs';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';

export function migrateCommand(cli: CliContext): CliCommand {
  return reportingCommand('migrate')
    .examples('usage-ledger migrate')
    .action(() => cli.withContext((context) => migrate(cli, context)));
}

async function migrate(cli: CliContext, context: Context): Promise<void> {
  const { path } = context.config.ledger;
  const existed = existsSync(path);
  const { applied, backup } = (await context.writer()).migration;
  const outcome = applied === 0 ? 'current' : existed ? 'migrated' : 'created';
  const words = {
    current: `${path} is already current`,
    created: `created ${path}`,
    migrated: `migrated ${path} to this version (migrations applied: ${applied})`,
  };
  cli.printResult({ ledger: path, outcome, migrations_applied: applied, backup }, [
    words[outcome],
    backup === null ? null : `previous state kept as ${backup}`,
  ]);
}
