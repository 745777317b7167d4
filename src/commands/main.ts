import { type Command, CommanderError, Help } from 'commander';
import { readVersion } from '../core/process/package-file.ts';
import { closest } from '../core/text/closest.ts';
import { inertText } from '../core/text/inert-text.ts';
import { COMMANDS } from './command-list.ts';
import {
  CliCommand,
  CliContext,
  CONFIG_OPTION,
  EXIT,
  type Io,
  JSON_OPTION,
  type TextOutput,
} from './shared/cli-context.ts';

export async function main(argv: string[], io: Io): Promise<number> {
  for (const output of [io.stdout, io.stderr]) tolerateClosedPipe(output);
  const cli = new CliContext(io);
  const program = await buildProgram(cli, (name) => argv.includes(name));
  try {
    refuseUnknownTopic(program, argv);
    await program.parseAsync(argv, { from: 'user' });
    cli.printClosingNotes();
    return cli.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    return cli.reportError(error);
  }
}

/**
 * Builds the program, and loads the code of only those commands that `isCalled` accepts. For the others, the help needs
 * only names and descriptions, and loading all code takes longer than most commands run.
 */
export async function buildProgram(cli: CliContext, isCalled: (name: string) => boolean): Promise<Command> {
  const program = new CliCommand('usage-ledger')
    .description('Keeps metered tenant usage in a SQLite ledger that finance can trust, and alerts when credits jump.')
    .version(readVersion(), '-v, --version', 'show the version')
    .option(...CONFIG_OPTION)
    .option(...JSON_OPTION)
    .configureHelp({ subcommandTerm: termInHelp })
    .examples('usage-ledger init', 'usage-ledger doctor', 'usage-ledger sync', 'usage-ledger usage --period 2026-02');
  for (const { name, description, load } of COMMANDS) {
    const command = isCalled(name) ? (await load())(cli) : new CliCommand(name);
    program.addCommand(command.description(description));
  }
  configure(program, cli);
  return program;
}

function termInHelp(command: Command): string {
  const entry = COMMANDS.find(({ name }) => name === command.name());
  return entry === undefined ? new Help().subcommandTerm(command) : `${entry.name} ${entry.takes}`.trimEnd();
}

/** Ignores EPIPE, since a reader such as `| head` may close the pipe early. The command continues. */
function tolerateClosedPipe(output: TextOutput): void {
  output.on?.('error', (error) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

function configure(command: Command, cli: CliContext): void {
  command
    .exitOverride()
    .configureOutput({
      writeOut: (text) => cli.io.stdout.write(cli.withTypedCommands(text)),
      writeErr: (text) => cli.io.stderr.write(cli.withTypedCommands(text)),
    })
    .helpOption('-h, --help', 'show help')
    .showHelpAfterError('(add --help for the options and examples)')
    // commander accepts extra arguments, and `refuseExcess` reports them: it suggests the subcommand that a misspelt word
    // means.
    .allowExcessArguments(true);
  if (command.parent === null) {
    command.hook('preAction', (_, action) => {
      refuseExcess(action);
      passOnOptions(action);
      cli.useOptions(action.optsWithGlobals());
    });
  }
  for (const child of command.commands) configure(child, cli);
}

/** Rejects `help nope`, for which commander would print the whole help. */
function refuseUnknownTopic(program: Command, [first, topic]: readonly string[]): void {
  const names = [...program.commands.map((command) => command.name()), 'help'];
  if (first !== 'help' || topic === undefined || topic.startsWith('-') || names.includes(topic)) return;
  const suggestion = closest(topic, names);
  const hint = suggestion === undefined ? '' : `\n(Did you mean ${suggestion}?)`;
  program.error(`error: unknown command '${inertText(topic)}'${hint}`);
}

/** Rejects an extra argument. If the subcommand is optional, the argument is usually a misspelt subcommand. */
function refuseExcess(action: Command): void {
  const { args, registeredArguments, parent } = action;
  const word = args[registeredArguments.length];
  if (word === undefined || registeredArguments.some(({ variadic }) => variadic)) return;
  if (parent === null || parent.args[0] === action.name() || registeredArguments.length > 0) {
    const known = `'${action.name()}' takes ${registeredArguments.length === 1 ? '1' : registeredArguments.length}`;
    action.error(`error: too many arguments, ${known}: ${args.map(inertText).join(' ')}`);
  }
  const suggestion = closest(word, [...parent.commands.map((command) => command.name()), 'help']);
  const hint = suggestion === undefined ? '' : `\n(Did you mean ${suggestion}?)`;
  parent.error(`error: unknown command '${inertText(word)}' of ${parent.name()}${hint}`);
}

/** Passes `--config` and `--json` to the command, since they may be written before or after it. Rejects an unknown one. */
function passOnOptions(action: Command): void {
  const options = action.optsWithGlobals();
  for (const name of ['config', 'json']) {
    if (options[name] === undefined) continue;
    const known = action.options.some((option) => option.attributeName() === name);
    if (!known) action.error(`error: unknown option '--${name}' for ${action.name()}`);
    action.setOptionValueWithSource(name, options[name], 'cli');
  }
}
