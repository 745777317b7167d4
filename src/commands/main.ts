import { Command, CommanderError } from 'commander';
import { readVersion } from '../core/version.ts';
import { CliContext, EXIT, examples, type Io } from './cli-context.ts';
import { syncCommand } from './sync.ts';

/** Carries out one command line (without node and script) and returns the exit code. */
export async function main(argv: string[], io: Io): Promise<number> {
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
  for (const command of [syncCommand(cli)]) program.addCommand(command);
  configure(program, cli);
  return program;
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
