import { Command, CommanderError, Help } from 'commander';
import { readVersion } from '../core/process/version.ts';
import { COMMANDS } from './command-list.ts';
import { CliContext, EXIT, examples, type Io, type TextOutput } from './shared/cli-context.ts';

/** Carries out one command line (without node and script) and returns the exit code. */
export async function main(argv: string[], io: Io): Promise<number> {
  for (const output of [io.stdout, io.stderr]) tolerateClosedPipe(output);
  const cli = new CliContext(io);
  const program = await buildProgram(cli, (name) => argv.includes(name));
  try {
    await program.parseAsync(argv, { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    return cli.report(error);
  }
}

/**
 * The program with all its commands, of which those that `isCalled` picks are loaded. The others are there by name, for
 * the help and for suggestions: loading them all takes longer than most commands.
 */
export async function buildProgram(cli: CliContext, isCalled: (name: string) => boolean): Promise<Command> {
  const program = new Command('usage-ledger')
    .description('Keeps metered tenant usage in a SQLite ledger that finance can trust, and alerts when credits jump.')
    .version(readVersion(), '--version')
    .configureHelp({ subcommandTerm: termInHelp })
    .addHelpText(
      'after',
      examples('usage-ledger init', 'usage-ledger doctor', 'usage-ledger sync', 'usage-ledger usage --period 2026-02'),
    );
  for (const { name, description, load } of COMMANDS) {
    const command = isCalled(name) ? (await load())(cli) : new Command(name);
    program.addCommand(command.description(description));
  }
  configure(program, cli);
  return program;
}

function termInHelp(command: Command): string {
  const entry = COMMANDS.find(({ name }) => name === command.name());
  return entry === undefined ? new Help().subcommandTerm(command) : `${entry.name} ${entry.takes}`.trimEnd();
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
    .hook('preAction', (_, action) => cli.useOptions(action.optsWithGlobals()));
  for (const child of command.commands) configure(child, cli);
}
