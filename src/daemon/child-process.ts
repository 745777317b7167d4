import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { AppError, type PackedError, packError, unpackError } from '../core/errors.ts';

/** What a process of ours says at its end: what has come of its work, or why nothing has. */
export type ChildAnswer<Done extends object> = Done | { error: PackedError };

/** The code of the error when a process says nothing, and what the process is for. */
interface ChildWords {
  crashed: string;
  does: string;
}

export interface ChildOrder extends ChildWords {
  /** The script; it calls `answerParent`. */
  file: URL;
  /** Sent to it: what it is given on its command line could be read by everybody on this machine. */
  job: object;
  stopping: AbortSignal;
}

export async function askChild<Done extends object>({ file, job, stopping, ...words }: ChildOrder): Promise<Done> {
  const child = fork(file, [], { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  child.send(job, () => undefined);
  const end = (): boolean => child.kill('SIGKILL');
  stopping.addEventListener('abort', end, { once: true });
  try {
    return await answerOf<Done>(child, words);
  } finally {
    stopping.removeEventListener('abort', end);
  }
}

/** In the process itself: does the job that it is sent, and says what has come of it. The signal aborts when the parent is gone. */
export async function answerParent<Job, Done extends object>(
  work: (job: Job, signal: AbortSignal) => Promise<Done>,
): Promise<void> {
  const stop = new AbortController();
  process.once('disconnect', () => stop.abort(new AppError('cancelled', 'the daemon is gone')));
  const [job] = (await once(process, 'message')) as [Job];
  const reply = await work(job, stop.signal).catch(
    (error: unknown): ChildAnswer<Done> => ({ error: packError(error) }),
  );
  if (process.connected) process.send?.(reply, () => process.disconnect());
}

/**
 * Waits for the end of a process and for what it said. Throws the error that it tells of, or one with the code `crashed`
 * when it could not be started or ended without a word.
 */
export async function answerOf<Done extends object>(child: ChildProcess, { crashed, does }: ChildWords): Promise<Done> {
  let answer: ChildAnswer<Done> | null = null;
  child.on('message', (message) => {
    answer = message as ChildAnswer<Done>;
  });
  const end = await endOf(child).catch((cause: Error) => {
    const message = `the process that ${does} could not be started: ${cause.message}`;
    throw new AppError(crashed, message, { cause, retryable: true });
  });
  // Words that are still on their way arrive before the channel closes.
  if (child.connected) await new Promise<void>((resolve) => child.once('disconnect', resolve));
  return doneOf(answer as ChildAnswer<Done> | null, `the process that ${does} ended with ${end}`, crashed);
}

/** Rejects when the process cannot be started: then nothing else is heard of it. */
function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`));
  });
}

function doneOf<Done extends object>(answer: ChildAnswer<Done> | null, end: string, crashed: string): Done {
  if (answer === null) throw new AppError(crashed, end);
  if ('error' in answer) throw unpackError(answer.error);
  return answer;
}
