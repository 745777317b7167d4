import { Command, type Help } from 'commander';
import type { LoadOptions } from '../../config/load.ts';
import type { Config } from '../../config/types.ts';
import { type Clock, systemClock } from '../../core/clock.ts';
import { AppError, ConfigError, messageOf, summarizeError, systemFault } from '../../core/errors.ts';
import { humanLogLine, type LogDestination } from '../../core/logger.ts';
import { exitCodeOf } from '../../core/process/exit-codes.ts';
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
  /** Some workspaces done, some not. */
  partial: 3,
  /** `verify` or `doctor` found a fault. */
  fault: 4,
} as const;

/** What a shell expects of a program that a signal has ended: 128 and the signal's number. */
export const STOP_EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

export class StoppedError extends AppError {
  readonly exitCode: number;

  constructor(signal: keyof typeof STOP_EXIT_CODES) {
    super('cancelled', `stopped by ${signal}; nothing half-done was kept`);
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
  /** Started for a command that is sure to write. */
  thread?: StartedThread | undefined;
}

/** A line at the foot of the terminal that other words must not run into. */
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
  readonly #last: string[] = [];

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

  /** Colours only where a person looks, and not against NO_COLOR. */
  get colours(): boolean {
    return this.io.stdout.isTTY === true && !this.io.env.NO_COLOR;
  }

  /** Tables fit the terminal; elsewhere each row is one line. */
  get tableOptions(): TableOptions {
    const { stdout } = this.io;
    // A terminal that does not know its size says 0.
    return { color: this.colours, width: stdout.isTTY === true ? stdout.columns || undefined : undefined };
  }

  get clock(): Clock {
    return this.io.overrides?.clock ?? systemClock;
  }

  now(): number {
    return this.clock.now();
  }

  /** The configuration; `amend` changes what it says, for settings on trial. */
  async loadConfig(amend?: LoadOptions['amend']): Promise<Config> {
    const { loadConfig } = await import('../../config/load.ts');
    return loadConfig({ file: this.#configFile, env: this.io.env, cwd: this.io.cwd, amend });
  }

  /**
   * Builds the wiring from the configuration, uses it, and lets go of it whatever happens. A `service` has no results: pm2
   * gets what it tells on stdout and what goes wrong on stderr, since it keeps a file of each.
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
      // A disk that fails in the middle of a read is reported by SQLite, and has a remedy too.
      const { ledgerErrorOf } = await import('../../ledger/store/file/sqlite-errors.ts');
      throw ledgerErrorOf(error) ?? error;
    } finally {
      await context.close();
    }
  }

  /** Where log lines go: to a person in words; undefined for JSON lines on standard error. */
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

  /** Has a line give way to whatever is written, until the returned function is called. */
  giveWay(line: ErasableLine): () => void {
    this.#line = line;
    return () => {
      this.#line = null;
    };
  }

  #write(output: TextOutput, text: string): unknown {
    this.#line?.erase();
    const taken = output.write(text);
    this.#line?.draw();
    return taken;
  }

  /** What a person types here for a command: where npm has started it, as by npx, the program is on no PATH. */
  commandLine(words: string): string {
    return `${this.io.env.npm_command === undefined ? '' : 'npx '}usage-ledger ${words}`;
  }

  /** Words for a person, whose commands are as they are typed here. */
  words(text: string): string {
    return text.replaceAll(/(?<=`|\$ |\$\()usage-ledger (?=[a-z])/g, this.commandLine(''));
  }

  print(text: string): void {
    this.printDocument(`${this.words(text)}\n`);
  }

  printDocument(text: string): void {
    this.#write(this.io.stdout, this.#redact(text));
  }

  /** A finished document that comes in pieces, on stdout; the next piece is made when a slow reader has taken the last. */
  async printPieces(pieces: Iterable<string>): Promise<void> {
    const { stdout } = this.io;
    for (const piece of pieces) {
      if (stdout.destroyed === true) return;
      if (this.#write(stdout, this.#redact(piece)) === false) await drained(stdout);
    }
  }

  /** One JSON document on stdout; integers of any size are exact. */
  printJson(value: object): void {
    this.printDocument(renderJson(value));
  }

  /** The answer of a command: its record as JSON, or the lines that say it; null is no line. */
  answer(record: object, lines: readonly (string | null)[]): void {
    if (this.#json) this.printJson(record);
    else for (const line of lines) if (line !== null) this.print(line);
  }

  noteCheckpoint(fault: string | null): void {
    if (fault !== null) this.note(`No checkpoint of the head could be written: ${fault}`);
  }

  note(text: string): void {
    this.#write(this.io.stderr, `${this.#redact(this.words(text))}\n`);
  }

  /** Said below the results: see `noteWhatIsLast`. */
  noteLast(text: string): void {
    this.#last.push(text);
  }

  noteWhatIsLast(): void {
    for (const text of this.#last) this.note(text);
  }

  noteFailure(workspaceId: string, error: unknown): { code: string; message: string; hint: string | null } {
    const { code, message, hint = null } = summarizeError(error);
    this.note(`${inertText(workspaceId)}: ${inertText(message)}`);
    if (hint !== null) this.note(`  ${inertText(hint)}`);
    return { code, message, hint };
  }

  /** Says what went wrong and what to do about it; returns the exit code. */
  report(thrown: unknown): number {
    const error = systemFault(thrown) ?? thrown;
    const ours = error instanceof AppError;
    const message = messageOf(error);
    this.note(`error: ${message.split('\n').map(inertText).join('\n')}`);
    if (ours && error.hint !== undefined) this.note(`  ${inertText(error.hint)}`);
    if (!ours && error instanceof Error && error.stack !== undefined) this.note(error.stack);
    const code = ours ? error.code : 'internal';
    if (this.#json) {
      const faults = error instanceof ConfigError ? { faults: error.faults } : {};
      this.printJson({ error: { code, message, hint: ours ? (error.hint ?? null) : null, ...faults } });
    }
    if (error instanceof StoppedError) return error.exitCode;
    return ours ? exitCodeOf(error) : EXIT.failed;
  }
}

export const CONFIG_OPTION = [
  '--config <file>',
  'configuration (default: ./usage-ledger.yml, else $USAGE_LEDGER_CONFIG)',
] as const;
export const JSON_OPTION = ['--json', 'print one JSON document on stdout'] as const;

/** Resolves when there is room again, and when nobody will ever read on. */
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
    help.optionDescription = (of) => withChoices(option(of));
    help.argumentDescription = (of) => withChoices(argument(of));
    return help;
  }

  examples(...lines: string[]): this {
    return this.addHelpText('after', `\nExamples:\n${lines.map((line) => `  $ ${folded(line)}`).join('\n')}`);
  }
}

/** As many as a line holds stand side by side; a longer list can be wrapped. */
function withChoices(description: string): string {
  return description.replace(/choices: ("[^"]*"(?:, "[^"]*")*)/, (_, list: string) => {
    const names = list.replaceAll('"', '').split(', ');
    const short = names.join('|');
    return short.length <= EXAMPLE_WIDTH - 20 ? short : names.join(', ');
  });
}

/** A command that reports: it knows `--json` and, unless it needs no configuration, `--config`. */
export function reportingCommand(name: string, { config = true } = {}): CliCommand {
  const command = config ? plainCommand(name) : new CliCommand(name);
  return command.option(...JSON_OPTION);
}

export function plainCommand(name: string): CliCommand {
  return new CliCommand(name).option(...CONFIG_OPTION);
}

/** The columns of a terminal that nobody has widened, less what stands before an example, `npx` too. */
const EXAMPLE_WIDTH = 72;

/** A command on several lines where it is long, as a shell takes it: each begins with an option. */
function folded(command: string): string {
  const lines: string[] = [];
  for (const part of command.split(/ (?=--)/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + part.length < EXAMPLE_WIDTH - 3)
      lines[lines.length - 1] = `${last} ${part}`;
    else lines.push(part);
  }
  return lines.join(' \\\n      ');
}

/** A sentence as lines of the terminal, those after the first set in; one line where nobody looks. */
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
 * Runs `work` with a signal that aborts on the first Ctrl-C or SIGTERM, so that it can end cleanly; the second one
 * ends the process at once. Whatever the work throws then, the caller gets a StoppedError.
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
