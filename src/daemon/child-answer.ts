import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type PackedError, unpackError } from '../core/crossing-errors.ts';
import { AppError } from '../core/errors.ts';

/** What a process of ours says at its end: what has come of its work, or why nothing has. */
export type ChildAnswer<Done extends object> = Done | { error: PackedError };

/**
 * Waits for the end of a process and for what it said. Throws the error that it tells of, or one with the code `crashed`,
 * in which `did` says what the process was for, when it ended without a word.
 */
export async function answerOf<Done extends object>(
  child: ChildProcess,
  { crashed, did }: { crashed: string; did: string },
): Promise<Done> {
  let answer: ChildAnswer<Done> | null = null;
  child.on('message', (message) => {
    answer = message as ChildAnswer<Done>;
  });
  const disconnected = once(child, 'disconnect');
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  // Words that are still on their way arrive before the channel closes.
  if (child.connected) await disconnected;
  return doneOf(
    answer as ChildAnswer<Done> | null,
    `the process that ${did} ended with ${signal ?? `code ${code}`}`,
    crashed,
  );
}

function doneOf<Done extends object>(answer: ChildAnswer<Done> | null, end: string, crashed: string): Done {
  if (answer === null) throw new AppError(crashed, end);
  if ('error' in answer) throw unpackError(answer.error);
  return answer;
}
