import { type ChildProcess, fork } from 'node:child_process';
import { systemClock } from '../../core/clock.ts';
import { SECOND_MS } from '../../core/durations.ts';
import { AppError, type PackedError, unpackError } from '../../core/errors.ts';
import { siblingModule } from '../../core/process/module-file.ts';
import { formatDuration } from '../../core/text/words.ts';
import type { FOLDER_COMMANDS } from './folder-commands.ts';
import type { FolderRequest } from './folder-process.ts';

/**
 * How long a folder may take to answer. A local disk takes milliseconds, a network share that is mounted again seconds.
 */
const FOLDER_DEADLINE_MS = 30 * SECOND_MS;

/** Running commands may continue for this time after a stop. A stop waits longer than this for a job. */
const STOP_GRACE_MS = 1_000;

type FolderCommands = typeof FOLDER_COMMANDS;
type FolderCommandName = keyof FolderCommands;
type FolderReply = { id: number } & ({ result?: unknown } | { error: PackedError });

/**
 * The folder commands, which a separate process runs. Each command rejects with `folder_timed_out` if the folder does
 * not answer.
 */
export type Folders = {
  readonly [Name in FolderCommandName]: (
    ...args: Parameters<FolderCommands[Name]>
  ) => Promise<Awaited<ReturnType<FolderCommands[Name]>>>;
} & {
  /**
   * Ends the process one second after `signal` aborts, so that running commands can complete. The process must not
   * outlive the daemon: a process that waits for a mount does not notice that the daemon has exited.
   */
  endWith(signal: AbortSignal): void;
  /** Ends the process and rejects its pending commands. */
  close(): void;
};

interface FolderOptions {
  /** The error code for a process that cannot be started, or ends early. */
  crashed: string;
  deadlineMs?: number;
}

/**
 * Gives access to folders that settings name. A separate process does the work; it starts with the first command. A
 * system call in a folder on a mount that hangs does not return. In the daemon it would block the main thread, or a
 * thread of the thread pool, and the daemon could not exit. A separate process can be abandoned.
 */
export function openFolders({ crashed, deadlineMs = FOLDER_DEADLINE_MS }: FolderOptions): Folders {
  const access = new FolderAccess({ crashed, deadlineMs });
  const command =
    <Name extends FolderCommandName>(name: Name): Folders[Name] =>
    (...args: readonly unknown[]) =>
      access.ask(name, args) as never;
  return {
    makeFolder: command('makeFolder'),
    listNames: command('listNames'),
    removeFiles: command('removeFiles'),
    removeUnfinishedBackup: command('removeUnfinishedBackup'),
    removeUnfinishedBackups: command('removeUnfinishedBackups'),
    readExportState: command('readExportState'),
    readExportStatus: command('readExportStatus'),
    writeExportState: command('writeExportState'),
    removeUnfinishedExport: command('removeUnfinishedExport'),
    rotateExports: command('rotateExports'),
    endWith: (signal) => access.endWith(signal),
    close: () => access.close(),
  };
}

class FolderAccess {
  readonly #crashed: string;
  readonly #deadlineMs: number;
  #child: ChildProcess | null = null;
  #pending = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;

  constructor({ crashed, deadlineMs }: Required<FolderOptions>) {
    this.#crashed = crashed;
    this.#deadlineMs = deadlineMs;
  }

  async ask(command: FolderCommandName, args: readonly unknown[]): Promise<unknown> {
    const [folder] = args;
    this.#lastId += 1;
    const request: FolderRequest = { id: this.#lastId, command, args };
    const answer = Promise.withResolvers<unknown>();
    this.#pending.set(request.id, answer);
    const onDeadline = (): void => this.#end(silent(String(folder), this.#deadlineMs));
    const cancel = systemClock.after(this.#deadlineMs, onDeadline, { background: true });
    try {
      this.#child ??= this.#start();
      this.#child.send(request, () => undefined);
      return await answer.promise;
    } finally {
      cancel();
      this.#pending.delete(request.id);
    }
  }

  endWith(signal: AbortSignal): void {
    const close = (): void => this.close();
    signal.addEventListener('abort', () => systemClock.after(STOP_GRACE_MS, close, { background: true }), {
      once: true,
    });
  }

  close(): void {
    this.#end(new AppError('folder_closed', 'the daemon no longer uses the folder'));
  }

  #start(): ChildProcess {
    const file = siblingModule(import.meta.url, 'folder-process');
    const child = fork(file, [], { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    const onEnd = (reason: string): void => {
      if (this.#child === child) this.#end(new AppError(this.#crashed, reason, { retryable: true }));
    };
    child.on('message', (reply: FolderReply) => this.#settle(reply));
    child.once('error', ({ message }) => onEnd(`could not start the process that reads folders: ${message}`));
    child.once('exit', (code, signal) =>
      onEnd(`the process that reads folders ended with ${signal ?? `code ${code}`}`),
    );
    return child;
  }

  #settle(reply: FolderReply): void {
    const answer = this.#pending.get(reply.id);
    if ('error' in reply) answer?.reject(unpackError(reply.error));
    else answer?.resolve(reply.result);
  }

  /**
   * Kills the process and does not wait for its end, because a process that waits for a mount ends only when the mount
   * answers.
   */
  #end(reason: AppError): void {
    const child = this.#child;
    this.#child = null;
    for (const { reject } of this.#pending.values()) reject(reason);
    if (child === null) return;
    child.kill('SIGKILL');
    child.unref();
    if (child.connected) child.disconnect();
  }
}

function silent(folder: string, deadlineMs: number): AppError {
  const message = `the folder ${folder} did not answer within ${formatDuration(deadlineMs)}`;
  return new AppError('folder_timed_out', message, { retryable: true, hint: 'check the mount of the folder' });
}
