import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { UsageError } from '../../core/errors.ts';
import { checkpointLines, parseKey } from '../../ledger/audit/anchor/checkpoint.ts';

/** A file that was named. All of these throw UsageError. */
export function readGiven(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UsageError(`${file} cannot be read (${code ?? message})`, 'check the path');
  }
}

/** The checkpoints of a file that was kept elsewhere. */
export function givenCheckpoints(file: string): string[] {
  const lines = checkpointLines(readGiven(file).toString());
  if (lines !== null) return lines;
  throw new UsageError(`${file} holds no checkpoints`, 'give a copy of checkpoints.log, or one checkpoint out of it');
}

export function givenKey(text: string): KeyObject {
  const key = parseKey(text);
  if (key !== null) return key;
  throw new UsageError('--checkpoint-key is no key', 'give the checkpoint key that `usage-ledger verify` has said');
}

export function givenDigest(text: string, option: string): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  throw new UsageError(`${option} is no digest`, 'give the 64 hexadecimal digits of the link, as they were said');
}
