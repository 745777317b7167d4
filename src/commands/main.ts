import { Command, CommanderError } from 'commander';
import { readVersion } from '../core/version.ts';
import { CliContext, EXIT, examples, type Io, type TextOutput } from './shared/cli-context.ts';

/** Carries out one command line (without node and script) and returns the exit code. */
export async function main(argv: string[], io: Io): Promise<number> {
  for (const output of [io.stdout, io.stderr]) tolerateClosedPipe(output);
  const cli = new CliContext(io);
  const program = await buildProgram(cli, argv[0]);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    return cli.report(error);
  }
}

/** The commands in the order in which `--help` shows them. Only the one that is called is loaded: it starts twice as fast. */
const COMMANDS = {
  init: async () => (await import('./init.ts')).initCommand,
  daemon: async () => (await import('./daemon.ts')).daemonCommand,
  sync: async () => (await import('./sync.ts')).syncCommand,
  status: async () => (await import('./status.ts')).statusCommand,
  doctor: async () => (await import('./doctor/doctor.ts')).doctorCommand,
  usage: async () => (await import('./finance/usage.ts')).usageCommand,
  tenant: async () => (await import('./finance/tenant.ts')).tenantCommand,
  close: async () => (await import('./finance/close.ts')).closeCommand,
  reopen: async () => (await import('./finance/close.ts')).reopenCommand,
  alerts: async () => (await import('./alerts/alerts.ts')).alertsCommand,
  verify: async () => (await import('./ledger/verify.ts')).verifyCommand,
  backup: async () => (await import('./ledger/backup.ts')).backupCommand,
  restore: async () => (await import('./ledger/restore.ts')).restoreCommand,
  dashboard: async () => (await import('./service/dashboard.ts')).dashboardCommand,
  'embed-token': async () => (await import('./service/embed-token.ts')).embedTokenCommand,
  sandbox: async () => (await import('./service/sandbox.ts')).sandboxCommand,
  migrate: async () => (await import('./ledger/migrate.ts')).migrateCommand,
};

/** The program with all its commands, or with one when `only` names it. */
export async function buildProgram(cli: CliContext, only?: string): Promise<Command> {
  const program = new Command('usage-ledger')
    .description('Keeps metered tenant usage in a SQLite ledger that finance can trust, and alerts when credits jump.')
    .version(readVersion(), '--version')
    .helpOption('--help', 'show help')
    .addHelpText(
      'after',
      examples('usage-ledger init', 'usage-ledger doctor', 'usage-ledger sync', 'usage-ledger usage --period 2026-02'),
    );
  const chosen = Object.entries(COMMANDS).filter(([name]) => name === only);
  for (const [, load] of chosen.length > 0 ? chosen : Object.entries(COMMANDS)) program.addCommand((await load())(cli));
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
