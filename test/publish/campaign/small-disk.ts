import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { PostgresServer } from '../../support/postgres.ts';

/** Postgres's own files and its log of changes take some 80 MB. */
const SIZE_MB = 256;
/** Less than a segment of the log of changes. */
const LARGEST_FILE = 1024 * 1024;

/** A place for a server whose disk can be full. */
export interface SmallDisk {
  /** For `startPostgres`. */
  folder: string;
  /** What a write to it says when it is full. */
  words: RegExp;
  /** From now on nothing more fits. */
  fill(server: PostgresServer): void;
  /** There is room again; the server may have ended meanwhile. */
  free(): void;
}

/**
 * A file system of its own in memory (`ENOSPC`), where this user may mount one; otherwise a limit for the size of the
 * server's files (`EFBIG`), which its log of changes runs into first.
 */
export function smallDisk(): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'ul-disk-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MB}m,mode=755`, 'ul-disk', folder], { stdio: 'ignore' });
  } catch {
    const fill = ({ pid }: PostgresServer): void =>
      void execFileSync('prlimit', ['--pid', String(pid), `--fsize=${LARGEST_FILE}`]);
    return {
      folder,
      words: /File too large|terminat|closed|recovery|starting up|ENOENT|ECONNREFUSED/,
      fill,
      free: () => undefined,
    };
  }
  onTestFinished(() => void execFileSync('umount', ['--lazy', folder]));
  const filler = join(folder, 'filler');
  return {
    folder,
    words: /No space left on device/,
    fill: () => fillUp(filler),
    free: () => rmSync(filler),
  };
}

function fillUp(path: string): void {
  const file = openSync(path, 'w');
  const block = Buffer.alloc(64 * 1024);
  try {
    for (;;) writeSync(file, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
}
