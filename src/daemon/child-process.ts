import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type Cancel, systemClock } from '../core/clock.ts';
import { AppError, type PackedError, packError, unpackError } from '../core/errors.ts';

/** The final message of a child process: its result, or its error. */
export type ChildResult<Done extends object> = Done | { error: PackedError };

/**
 * Parts of the errors about a child process. `crashed` is the error code if the child ends without a result; `does` is
 * a verb phrase for the child's job, such as "makes the backup".
 */
interface ChildLabels {
  crashed: string;
  does: string;
}

export interface ChildJob extends ChildLabels {
  /** The script to run; it has to call `runParentJob`. */
  file: URL;
  /** What the child is asked to do. It is sent over IPC, because every user of the machine can read command lines. */
  job: object;
  stopping: AbortSignal;
}

/**
 * How long to wait for a killed child to end. A child that waits for a mount that hangs ends only when the mount
 * answers.
 */
const KILL_WAIT_MS = 1_000;

/**
 * Runs a job in a child process and returns its result. When `stopping` aborts, the child is killed. The promise
 * rejects when the child has ended, at the latest after a second.
 */
export async function runInChild<Done extends object>({ file, job, stopping, ...words }: ChildJob): Promise<Done> {
  const child = fork(file, [], { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  child.send(job, () => undefined);
  const abandoned = Promise.withResolvers<never>();
  let cancel: Cancel = () => undefined;
  const end = (): void => {
    child.kill('SIGKILL');
    cancel = systemClock.after(KILL_WAIT_MS, () => {
      child.unref();
      if (child.connected) child.disconnect();
      abandoned.reject(new AppError(words.crashed, `the process that ${words.does} was killed and does not end`));
    });
  };
  if (stopping.aborted) end();
  stopping.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([waitForResult<Done>(child, words), abandoned.promise]);
  } finally {
    cancel();
    stopping.removeEventListener('abort', end);
  }
}

/**
 * Runs in the child process: receives one job, does it, and sends the result or the error. The signal aborts when the
 * parent exits.
 */
export async function runParentJob<Job, Done extends object>(
  work: (job: Job, signal: AbortSignal) => Promise<Done>,
): Promise<void> {
  const stop = new AbortController();
  process.once('disconnect', () => stop.abort(new AppError('cancelled', 'the daemon has exited')));
  const [job] = (await once(process, 'message')) as [Job];
  const reply = await work(job, stop.signal).catch(
    (error: unknown): ChildResult<Done> => ({ error: packError(error) }),
  );
  if (process.connected) process.send?.(reply, () => process.disconnect());
}

/**
 * Waits until a child process ends and returns its result. Throws the error that the child sent. Throws an error with
 * the code `crashed` if the child could not be started, or if it ended without a message.
 */
export async function waitForResult<Done extends object>(
  child: ChildProcess,
  { crashed, does }: ChildLabels,
): Promise<Done> {
  let answer: ChildResult<Done> | null = null;
  child.on('message', (message) => {
    answer = message as ChildResult<Done>;
  });
  const end = await childEnd(child).catch((cause: Error) => {
    const message = `could not start the process that ${does}: ${cause.message}`;
    throw new AppError(crashed, message, { cause, retryable: true });
  });
  // Waits until the channel closes, because a message that the child has sent may arrive until then.
  if (child.connected) await new Promise<void>((resolve) => child.once('disconnect', resolve));
  return resultOf(answer as ChildResult<Done> | null, `the process that ${does} ended with ${end}`, crashed);
}

/**
 * Resolves with the exit code or signal; rejects if the process cannot be started, because then no `exit` event
 * follows.
 */
function childEnd(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`));
  });
}

function resultOf<Done extends object>(answer: ChildResult<Done> | null, end: string, crashed: string): Done {
  if (answer === null) throw new AppError(crashed, end);
  if ('error' in answer) throw unpackError(answer.error);
  return answer;
}
