import type { KeyObject } from 'node:crypto';
import { resolve } from 'node:path';
import { UsageError } from '../../core/errors.ts';
import { readInputFile } from '../../input-files/input-file.ts';
import { parsePublicKey, splitCheckpointFile } from '../../ledger/audit/anchor/checkpoint-log.ts';

/** Reads the checkpoint lines of the file that `--checkpoint` names. Throws UsageError. */
export function readCheckpoints(cwd: string, file: string): string[] {
  const lines = splitCheckpointFile(readInputFile(resolve(cwd, file), file).bytes.toString());
  if (lines !== null) return lines;
  throw new UsageError(`${file} has no checkpoints`, 'use a copy of checkpoints.log, or one line of it');
}

/** Parses the value of `--checkpoint-key`. Throws UsageError. */
export function parseCheckpointKey(text: string): KeyObject {
  const key = parsePublicKey(text);
  if (key !== null) return key;
  throw new UsageError('--checkpoint-key is not a key', 'use the checkpoint key that `usage-ledger verify` prints');
}

/** Parses a chain digest, 64 hexadecimal digits. Throws UsageError, which names the option. */
export function parseDigest(text: string, option: string): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  throw new UsageError(`${option} is not a digest`, 'use the 64 hexadecimal digits as printed');
}
