import { counted } from './text/words.ts';

/**
 * The base class of every error that this program raises on purpose. `code` never changes, so scripts may rely on it.
 * `retryable` is true if the same call can succeed later without any change. `hint` tells the reader what to do about
 * the error.
 */
export class AppError extends Error {
  readonly code: string;
  readonly retryable: boolean;
  readonly hint: string | undefined;

  constructor(code: string, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.hint = options.hint;
  }
}

export interface AppErrorOptions {
  retryable?: boolean;
  hint?: string | undefined;
  cause?: unknown;
}

/** A mistake on the command line. Exit code 2. */
export class UsageError extends AppError {
  constructor(message: string, hint?: string) {
    super('usage', message, { hint });
  }
}

/** Returns the name of an input field as the caller writes it: `as_of` is `--as-of` on the command line. */
export type FieldNames = (field: string) => string;

/**
 * An invalid input of an operation. The caller (command line or HTTP) chooses how the message names the input fields.
 * Exit code 2.
 */
export class InputError extends UsageError {
  readonly #message: (nameOf: FieldNames) => string;
  readonly #hint: string | ((nameOf: FieldNames) => string);

  constructor(message: (nameOf: FieldNames) => string, hint: string | ((nameOf: FieldNames) => string)) {
    const same: FieldNames = (field) => field;
    super(message(same), typeof hint === 'string' ? hint : hint(same));
    this.#message = message;
    this.#hint = hint;
  }

  /** Returns the message and the hint. Each input field in them is named by the result of `nameOf`. */
  wordsFor(nameOf: FieldNames): { message: string; hint: string } {
    return {
      message: this.#message(nameOf),
      hint: typeof this.#hint === 'string' ? this.#hint : this.#hint(nameOf),
    };
  }
}

/** One mistake in a configuration: its place, the problem and the remedy. */
export interface ConfigFault {
  path: string;
  message: string;
  /** The remedy, as an imperative sentence. */
  hint: string;
}

/** An invalid configuration. The error lists every mistake, not only the first. Exit code 2. */
export class ConfigError extends AppError {
  readonly file: string | null;
  readonly faults: readonly ConfigFault[];

  constructor(file: string | null, faults: readonly ConfigFault[]) {
    const where = file ?? 'the environment';
    const count = counted(faults.length, 'mistake');
    const lines = faults.map((fault) => `  ${fault.path}: ${fault.message}\n    ${fault.hint}`);
    super('config', `${count} in ${where}\n${lines.join('\n')}`);
    this.file = file;
    this.faults = faults;
  }
}

/**
 * Operating system errors that a person can fix. Each has an error code of this program and a remedy, in which `{path}`
 * stands for the path that the error names.
 */
const SYSTEM_FAULTS: Readonly<Record<string, readonly [code: string, hint: string]>> = {
  EACCES: ['not_permitted', 'grant the user that runs usage-ledger access to {path}, or run it as the owner'],
  EPERM: ['not_permitted', 'grant the user that runs usage-ledger access to {path}, or run it as the owner'],
  EROFS: ['not_permitted', 'the file system is read-only: choose another place for {path}, or mount it for writing'],
  ENOSPC: ['disk_full', 'free space on the disk of {path}'],
  EDQUOT: ['disk_full', 'raise the quota of the user that runs usage-ledger, or free space'],
  ENOTDIR: ['not_a_folder', 'part of {path} is a file, not a folder: correct the path'],
  EMFILE: ['too_many_files', 'raise the limit of open files (`ulimit -n`, or LimitNOFILE of systemd)'],
  ERR_DLOPEN_FAILED: [
    'native_module',
    'run `npm rebuild better-sqlite3`; if that does not help, remove node_modules and install again with this Node',
  ],
};

/**
 * Converts an operating system error that a person can fix into an AppError with a remedy. Returns null for any other
 * error.
 */
export function systemFault(error: unknown): AppError | null {
  if (!(error instanceof Error) || error instanceof AppError || !('code' in error)) return null;
  const { code, message, path } = error as NodeJS.ErrnoException;
  const [appCode, hint] = SYSTEM_FAULTS[code ?? ''] ?? [];
  if (appCode === undefined || hint === undefined) return null;
  const retryable = appCode === 'disk_full' || appCode === 'too_many_files';
  const line = message.replace(/\s*\n\s*/g, ' ');
  return new AppError(appCode, line, { retryable, hint: hint.replace('{path}', path ?? 'its path'), cause: error });
}

/** The plain data of an error, which can be passed between threads, stored in the ledger and printed by `--json`. */
interface ErrorSummary {
  name: string;
  code: string;
  message: string;
  retryable: boolean;
  hint?: string;
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Joins an error's message and remedy into one line for an alert: `Postgres refused ...: run GRANT ...`. */
export function withRemedy({ message, hint }: { message: string; hint?: string | undefined }): string {
  return hint === undefined ? message : `${message}: ${hint}`;
}

/** Reduces any thrown value to plain data. Unexpected errors have the code `internal` and are not retryable. */
export function summarizeError(thrown: unknown): ErrorSummary {
  const error = systemFault(thrown) ?? thrown;
  if (error instanceof AppError) {
    const { name, code, message, retryable, hint } = error;
    return hint === undefined ? { name, code, message, retryable } : { name, code, message, retryable, hint };
  }
  const message = messageOf(error);
  return { name: error instanceof Error ? error.name : 'Error', code: 'internal', message, retryable: false };
}

/**
 * An error in the form in which it is sent to another thread or process. The receiver does not know the error's class,
 * so it uses `code` and the fields in `details`.
 */
export interface PackedError extends ErrorSummary {
  /** The message and hint of an InputError. `{{as_of}}` marks where the name of the input field `as_of` is inserted. */
  inputWords?: { message: string; hint: string };
  /** The fields that the error's class adds to AppError, such as `retryAfterMs`. */
  details?: Record<string, unknown>;
  /** The stack of an unexpected error, for the log. */
  stack?: string;
}

export function packError(thrown: unknown): PackedError {
  const packed: PackedError = summarizeError(thrown);
  if (thrown instanceof InputError) packed.inputWords = thrown.wordsFor((field) => `{{${field}}}`);
  if (thrown instanceof AppError) {
    const { name, code, retryable, hint, ...details } = thrown;
    if (Object.keys(details).length > 0) packed.details = details;
  } else if (packed.code === 'internal' && thrown instanceof Error && thrown.stack !== undefined) {
    packed.stack = thrown.stack;
  }
  return packed;
}

export function unpackError(packed: PackedError): AppError {
  const { name, code, message, retryable, hint, details, stack, inputWords } = packed;
  if (inputWords !== undefined) {
    const wordsOf = (text: string) => (nameOf: FieldNames) =>
      text.replaceAll(/\{\{(\w+)\}\}/g, (_, field: string) => nameOf(field));
    return new InputError(wordsOf(inputWords.message), wordsOf(inputWords.hint));
  }
  const error = Object.assign(new AppError(code, message, { retryable, hint }), details, { name });
  if (stack !== undefined) error.stack = stack;
  return error;
}
