import { Command } from 'commander';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/types.ts';
import { AppError } from '../core/errors.ts';
import type { Redactor } from '../core/redact.ts';
import { Context, type ContextOverrides } from '../daemon/context.ts';
import { renderJson } from '../reports/json.ts';

/** Exit codes that scripts may rely on. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  /** Some workspaces done, some not. */
  partial: 3,
  /** `verify` or `doctor` found a fault. */
  fault: 4,
} as const;

/** A stream for words: results go to stdout, everything else to stderr. */
export interface TextOutput {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

/** The world outside of a command, so that tests can stand in for it. */
export interface Io {
  stdout: TextOutput;
  stderr: TextOutput;
  env: NodeJS.ProcessEnv;
  cwd: string;
  overrides?: ContextOverrides;
}

/** What a command is given: its world, the configuration on demand and how to answer. */
export class CliContext {
  readonly io: Io;
  exitCode: number = EXIT.done;
  #configFile: string | undefined;
  #redact: Redactor = (text) => text;
  #json = false;

  constructor(io: Io) {
    this.io = io;
  }

  /** Takes over the options that all commands share. */
  useOptions(options: { config?: string | undefined; json?: boolean | undefined }): void {
    this.#configFile = options.config;
    this.#json = options.json === true;
  }

  /** Whether the answer is to be one JSON document on stdout. */
  get json(): boolean {
    return this.#json;
  }

  /** Colours only where a person looks, and not against NO_COLOR. */
  get colours(): boolean {
    return this.io.stdout.isTTY === true && !this.io.env.NO_COLOR;
  }

  loadConfig(): Config {
    return loadConfig({ file: this.#configFile, env: this.io.env, cwd: this.io.cwd });
  }

  /** Builds the wiring from the configuration, uses it, and lets go of it whatever happens. */
  async withContext<T>(use: (context: Context) => Promise<T> | T, config = this.loadConfig()): Promise<T> {
    const context = new Context(config, this.io.overrides);
    this.#redact = context.redact;
    try {
      return await use(context);
    } finally {
      await context.close();
    }
  }

  /** A result, on stdout; a line feed is added. */
  print(text: string): void {
    this.io.stdout.write(`${this.#redact(text)}\n`);
  }

  /** One JSON document on stdout; integers of any size are exact. */
  printJson(value: object): void {
    this.io.stdout.write(this.#redact(renderJson(value)));
  }

  /** Words that are no result, on stderr. */
  note(text: string): void {
    this.io.stderr.write(`${this.#redact(text)}\n`);
  }

  /** Says what went wrong and what to do about it; returns the exit code. */
  report(error: unknown): number {
    const ours = error instanceof AppError;
    const message = error instanceof Error ? error.message : String(error);
    this.note(`error: ${message}`);
    if (ours && error.hint !== undefined) this.note(`  ${error.hint}`);
    if (!ours && error instanceof Error && error.stack !== undefined) this.note(error.stack);
    const code = ours ? error.code : 'internal';
    if (this.#json) this.printJson({ error: { code, message, hint: ours ? (error.hint ?? null) : null } });
    return code === 'usage' || code === 'config' ? EXIT.usage : EXIT.failed;
  }
}

/** A command that reports: it knows `--json` and `--config`. */
export function reportingCommand(name: string): Command {
  return plainCommand(name).option('--json', 'print one JSON document on stdout');
}

/** A command that reads the configuration. */
export function plainCommand(name: string): Command {
  return new Command(name).option('--config <file>', 'configuration (default: ./usage-ledger.yml, else $USAGE_LEDGER_CONFIG)');
}

/** Examples at the end of a command's help. */
export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`;
}
