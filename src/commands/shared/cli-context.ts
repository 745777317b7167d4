import { Command, type Help } from 'commander';
import { exitCodeOf } from '../../config/exit-codes.ts';
import type { Config } from '../../config/types.ts';
import { type Clock, systemClock } from '../../core/clock.ts';
import { AppError, ConfigError, InputError, messageOf, systemFault, UsageError } from '../../core/errors.ts';
import { humanLogLine, type LogDestination } from '../../core/logger.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { Redactor } from '../../core/text/redact.ts';
import { renderJson } from '../../reports/formats/json.ts';
import { type TableOptions, wrapText } from '../../reports/formats/table.ts';
import type { Context, ContextOverrides } from '../../wiring/context.ts';
import type { StartedThread } from '../../writer/start-thread.ts';

export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  /** Some workspaces succeeded and others failed. */
  partial: 3,
  /** `verify` or `doctor` found a fault. */
  fault: 4,
} as const;

/** Exit codes after a signal: 128 plus the signal number, as shells expect. */
export const STOP_EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

export class StoppedError extends AppError {
  readonly exitCode: number;

  constructor(signal: keyof typeof STOP_EXIT_CODES) {
    super('cancelled', `stopped by ${signal}; no partial changes were kept`);
    this.exitCode = STOP_EXIT_CODES[signal];
  }
}

export interface TextOutput {
  write(text: string): unknown;
  on?(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
  once?(event: 'drain' | 'close', listener: () => void): unknown;
  off?(event: 'drain' | 'close', listener: () => void): unknown;
  destroyed?: boolean;
  isTTY?: boolean;
  columns?: number;
}

export interface Io {
  stdout: TextOutput;
  stderr: TextOutput;
  env: NodeJS.ProcessEnv;
  cwd: string;
  overrides?: ContextOverrides;
  /** The writer thread, started early for a command that always writes. */
  thread?: StartedThread | undefined;
}

/** A progress line that is cleared before other output is written. */
export interface ErasableLine {
  erase(): void;
  draw(): void;
}

export class CliContext {
  readonly io: Io;
  exitCode: number = EXIT.done;
  #configFile: string | undefined;
  #redact: Redactor = (text) => text;
  #json = false;
  #line: ErasableLine | null = null;
  readonly #closingNotes: string[] = [];

  constructor(io: Io) {
    this.io = io;
  }

  useOptions(options: { config?: string; json?: boolean; format?: string }): void {
    this.#configFile = options.config;
    this.#json = options.json === true || options.format === 'json';
  }

  get json(): boolean {
    return this.#json;
  }

  /** True on a terminal without NO_COLOR. */
  get colours(): boolean {
    return this.io.stdout.isTTY === true && !this.io.env.NO_COLOR;
  }

  /**
   * The layout of tables. On a terminal a table is as wide as the terminal; elsewhere each row is one line of any
   * length.
   */
  get tableOptions(): TableOptions {
    const { stdout } = this.io;
    // A terminal of unknown size reports 0 columns.
    return { color: this.colours, width: stdout.isTTY === true ? stdout.columns || undefined : undefined };
  }

  get clock(): Clock {
    return this.io.overrides?.clock ?? systemClock;
  }

  now(): number {
    return this.clock.now();
  }

  async loadConfig(): Promise<Config> {
    const { loadConfig } = await import('../../config/load.ts');
    return loadConfig({ file: this.#configFile, env: this.io.env, cwd: this.io.cwd });
  }

  /**
   * Builds a context from the configuration, passes it to `use` and always closes it. Under pm2, a `service` logs errors to
   * stderr and other lines to stdout, because pm2 keeps one file of each.
   */
  async withContext<T>(
    use: (context: Context) => Promise<T> | T,
    { config, service = false }: { config?: Config; service?: boolean } = {},
  ): Promise<T> {
    const wiring = import('../../wiring/context.ts');
    const settings = config ?? (await this.loadConfig());
    const logs = service && this.io.env.pm_id !== undefined ? this.#splitLogs() : this.logDestination;
    const { overrides, thread } = this.io;
    const context = new (await wiring).Context(settings, {
      thread,
      ...overrides,
      ...(logs === undefined ? {} : { logDestination: logs }),
    });
    this.#redact = context.redact;
    try {
      return await use(context);
    } catch (error) {
      // If the disk fails during a read, SQLite throws. `toLedgerError` adds the remedy.
      const { toLedgerError } = await import('../../ledger/store/file/sqlite-errors.ts');
      throw toLedgerError(error) ?? error;
    } finally {
      await context.close();
    }
  }

  /** The destination of log lines: readable text on a terminal; undefined means JSON lines on stderr. */
  get logDestination(): LogDestination | undefined {
    const { stderr, env } = this.io;
    if (stderr.isTTY !== true) return undefined;
    const colours = !env.NO_COLOR;
    return { write: (line) => this.#write(stderr, humanLogLine(line, { colours })) };
  }

  #splitLogs(): LogDestination {
    const { stdout, stderr } = this.io;
    return { write: (line, level) => void (level === 'error' || level === 'fatal' ? stderr : stdout).write(line) };
  }

  /** Clears `line` before each write and redraws it afterwards, until the returned function is called. */
  attachProgressLine(line: ErasableLine): () => void {
    this.#line = line;
    return () => {
      this.#line = null;
    };
  }

  #write(output: TextOutput, text: string): unknown {
    this.#line?.erase();
    const hasRoom = output.write(text);
    this.#line?.draw();
    return hasRoom;
  }

  /**
   * Returns a command as the user must type it: with `npx` if npm started this process, because the program is then not
   * on PATH.
   */
  commandLine(words: string): string {
    return `${this.io.env.npm_command === undefined ? '' : 'npx '}usage-ledger ${words}`;
  }

  /** Replaces `usage-ledger` commands in a text by the form that the user types, see `commandLine`. */
  withTypedCommands(text: string): string {
    return text.replaceAll(/(?<=`|\$ |\$\()usage-ledger (?=[a-z])/g, this.commandLine(''));
  }

  print(text: string): void {
    this.printDocument(`${this.withTypedCommands(text)}\n`);
  }

  printDocument(text: string): void {
    this.#write(this.io.stdout, this.#redact(text));
  }

  /** Writes a document to stdout in pieces. Waits for a slow reader before it produces the next piece. */
  async printPieces(pieces: Iterable<string>): Promise<void> {
    const { stdout } = this.io;
    for (const piece of pieces) {
      if (stdout.destroyed === true) return;
      if (this.#write(stdout, this.#redact(piece)) === false) await drained(stdout);
    }
  }

  /** Prints one JSON document to stdout; integers of any size are exact. */
  printJson(value: object): void {
    this.printDocument(renderJson(value));
  }

  /** Prints the result of a command: the record with --json, else the lines. A null line is skipped. */
  printResult(record: object, lines: readonly (string | null)[]): void {
    if (this.#json) this.printJson(record);
    else for (const line of lines) if (line !== null) this.print(line);
  }

  noteCheckpoint(fault: string | null): void {
    if (fault !== null) this.note(`Cannot write a checkpoint of the head: ${fault}`);
  }

  /**
   * Writes to stderr, on a terminal wrapped to its width. Secrets are removed first, because a line break inside a
   * secret would hide it.
   */
  note(text: string): void {
    const { isTTY, columns } = this.io.stderr;
    const width = isTTY === true ? columns || undefined : undefined;
    const lines = this.#redact(this.withTypedCommands(text)).split('\n');
    this.#write(this.io.stderr, `${lines.flatMap((line) => proseLines(line, width)).join('\n')}\n`);
  }

  /** Prints the notes of a change to stderr. */
  noteAll(notes: readonly string[]): void {
    for (const text of notes) this.note(inertText(text));
  }

  /** Keeps a note for the end of the output, see `printClosingNotes`. */
  noteAtEnd(text: string): void {
    this.#closingNotes.push(text);
  }

  printClosingNotes(): void {
    for (const text of this.#closingNotes) this.note(text);
  }

  noteFault(workspaceId: string, { message, hint }: { message: string; hint: string | null }): void {
    this.note(`${inertText(workspaceId)}: ${inertText(message)}`);
    if (hint !== null) this.note(`  ${inertText(hint)}`);
  }

  /** Prints an error with its remedy, or with its stack when it is unexpected. Returns the exit code. */
  reportError(thrown: unknown): number {
    const error = systemFault(thrown) ?? (thrown instanceof InputError ? withOptionNames(thrown) : thrown);
    const isExpected = error instanceof AppError;
    const message = messageOf(error);
    this.note(`error: ${message.split('\n').map(inertText).join('\n')}`);
    if (isExpected && error.hint !== undefined) this.note(`  ${inertText(error.hint)}`);
    if (!isExpected && error instanceof Error && error.stack !== undefined) {
      this.#write(this.io.stderr, `${this.#redact(error.stack)}\n`);
    }
    const code = isExpected ? error.code : 'internal';
    if (this.#json) {
      const faults = error instanceof ConfigError ? { faults: error.faults } : {};
      this.printJson({ error: { code, message, hint: isExpected ? (error.hint ?? null) : null, ...faults } });
    }
    if (error instanceof StoppedError) return error.exitCode;
    return isExpected ? exitCodeOf(error) : EXIT.failed;
  }
}

/** Names the fields of an operation's input as options: `as_of` becomes `--as-of`. */
function withOptionNames(error: InputError): UsageError {
  const { message, hint } = error.wordsFor((field) => `--${field.replaceAll('_', '-')}`);
  return new UsageError(message, hint);
}

export const CONFIG_OPTION = [
  '--config <file>',
  'configuration file (default: ./usage-ledger.yml, else $USAGE_LEDGER_CONFIG)',
] as const;
export const JSON_OPTION = ['--json', 'print one JSON document on stdout'] as const;

/** Resolves when the output accepts more text, or is closed. */
function drained(output: TextOutput): Promise<void> {
  if (output.once === undefined || output.destroyed === true) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      output.off?.('drain', done);
      output.off?.('close', done);
      resolve();
    };
    output.once?.('drain', done);
    output.once?.('close', done);
  });
}

export class CliCommand extends Command {
  override createHelp(): Help {
    const help = super.createHelp();
    const option = help.optionDescription.bind(help);
    const argument = help.argumentDescription.bind(help);
    help.optionDescription = (item) => withChoices(option(item));
    help.argumentDescription = (item) => withChoices(argument(item));
    return help;
  }

  examples(...lines: string[]): this {
    return this.addHelpText('after', `\nExamples:\n${lines.map((line) => `  $ ${foldCommand(line)}`).join('\n')}`);
  }
}

/** Shows choices as `a|b|c` when they fit one line, else separated by commas so that they can wrap. */
function withChoices(description: string): string {
  return description.replace(/choices: ("[^"]*"(?:, "[^"]*")*)/, (_, list: string) => {
    const names = list.replaceAll('"', '').split(', ');
    const short = names.join('|');
    return short.length <= EXAMPLE_WIDTH - 20 ? short : names.join(', ');
  });
}

/** Creates a command with `--json` and, unless `config` is false, `--config`. */
export function reportingCommand(name: string, { config = true } = {}): CliCommand {
  const command = config ? plainCommand(name) : new CliCommand(name);
  return command.option(...JSON_OPTION);
}

export function plainCommand(name: string): CliCommand {
  return new CliCommand(name).option(...CONFIG_OPTION);
}

/** The width of an example: 80 columns minus the prompt and `npx` before it. */
const EXAMPLE_WIDTH = 72;

/** Breaks a long command before its options into lines that end in a backslash, so that a shell accepts it. */
function foldCommand(command: string): string {
  const lines: string[] = [];
  for (const part of command.split(/ (?=--)/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + part.length < EXAMPLE_WIDTH - 3)
      lines[lines.length - 1] = `${last} ${part}`;
    else lines.push(part);
  }
  return lines.join(' \\\n      ');
}

/** Wraps text to the terminal width and indents continuation lines; without a width, returns one line. */
export function proseLines(text: string, width: number | undefined, indent = 0): string[] {
  if (width === undefined) return [text];
  const lead = /^ */.exec(text)?.[0].length ?? 0;
  const [first = '', ...rest] = wrapText(text.slice(lead), Math.max(20, width - lead - indent));
  return [' '.repeat(lead) + first, ...rest.map((line) => ' '.repeat(lead + indent) + line)];
}

export function printProse(cli: CliContext, text: string, indent = 0): void {
  for (const line of proseLines(text, cli.tableOptions.width, indent)) cli.print(line);
}

/**
 * Runs `work` with a signal that aborts on the first Ctrl-C or SIGTERM, so that it can end cleanly. A second one ends the
 * process at once. Rejects with StoppedError after an abort, whatever `work` throws.
 */
export async function withStopSignal<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const onSignal = (name: keyof typeof STOP_EXIT_CODES): void => {
    if (stop.signal.aborted) process.exit(STOP_EXIT_CODES[name]);
    stop.abort(new StoppedError(name));
  };
  const onInterrupt = (): void => onSignal('SIGINT');
  const onTerminate = (): void => onSignal('SIGTERM');
  process.on('SIGINT', onInterrupt).on('SIGTERM', onTerminate);
  try {
    return await work(stop.signal);
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    process.off('SIGINT', onInterrupt).off('SIGTERM', onTerminate);
  }
}
