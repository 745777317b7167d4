import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { expect, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A folder with 8 MB, which only root can have. */
export function smallFileSystem(folder = temporaryFolder()): string {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=700', 'ul-faults', folder]);
  onTestFinished(() => void execFileSync('umount', ['--lazy', folder]));
  return folder;
}

/** Writes until nothing more fits. */
export function fill(path: string): void {
  const file = openSync(path, 'w');
  for (let size = 65_536; size >= 1; size = Math.floor(size / 2)) {
    try {
      for (;;) writeSync(file, Buffer.alloc(size));
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    }
  }
  closeSync(file);
}
