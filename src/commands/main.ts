import { Command, CommanderError } from 'commander';
import { readVersion } from '../core/version.ts';
import { alertsCommand } from './alerts.ts';
import { backupCommand } from './backup.ts';
import { CliContext, EXIT, examples, type Io, type TextOutput } from './cli-context.ts';
import { closeCommand, reopenCommand } from './close.ts';
import { daemonCommand } from './daemon.ts';
import { dashboardCommand } from './dashboard.ts';
import { doctorCommand } from './doctor/doctor.ts';
import { embedTokenCommand } from './embed-token.ts';
import { initCommand } from './init.ts';
import { migrateCommand } from './migrate.ts';
import { restoreCommand } from './restore.ts';
import { sandboxCommand } from './sandbox.ts';
import { statusCommand } from './status.ts';
import { syncCommand } from './sync.ts';
import { tenantCommand } from './tenant.ts';
import { usageCommand } from './usage.ts';
import { verifyCommand } from './verify.ts';

/** Carries out one command line (without node and script) and returns the exit code. */
export async function main(argv: string[], io: Io): Promise<number> {
  for (const output of [io.stdout, io.stderr]) tolerateClosedPipe(output);
  const cli = new CliContext(io);
  const program = buildProgram(cli);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    return cli.report(error);
  }
}

/** The commands in the order in which `--help` shows them. */
export function buildProgram(cli: CliContext): Command {
  const program = new Command('usage-ledger')
    .description('Keeps metered tenant usage in a SQLite ledger that finance can trust, and alerts when credits jump.')
    .version(readVersion(), '--version')
    .helpOption('--help', 'show help')
    .addHelpText(
      'after',
      examples('usage-ledger init', 'usage-ledger doctor', 'usage-ledger sync', 'usage-ledger usage --period 2026-02'),
    );
  const commands = [
    initCommand,
    daemonCommand,
    syncCommand,
    statusCommand,
    doctorCommand,
    usageCommand,
    tenantCommand,
    closeCommand,
    reopenCommand,
    alertsCommand,
    verifyCommand,
    backupCommand,
    restoreCommand,
    dashboardCommand,
    embedTokenCommand,
    sandboxCommand,
    migrateCommand,
  ];
  for (const command of commands) program.addCommand(command(cli));
  configure(program, cli);
  return program;
}

/** A reader that has seen enough, such as `| head`, closes the pipe: the work goes on and nobody is told. */
function tolerateClosedPipe(output: TextOutput): void {
  output.on?.('error', (error) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** Output, exit and help are the same for every command, however deep. */
function configure(command: Command, cli: CliContext): void {
  command
    .exitOverride()
    .configureOutput({
      writeOut: (text) => cli.io.stdout.write(text),
      writeErr: (text) => cli.io.stderr.write(text),
    })
    .helpOption('--help', 'show help')
    .showHelpAfterError('(add --help for the options and examples)')
    .hook('preAction', (_, action) => cli.useOptions(action.opts()));
  for (const child of command.commands) configure(child, cli);
}
