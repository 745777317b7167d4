import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isoTime } from '../../core/clock.ts';
import { canHaveHappened } from '../../core/stored-time.ts';
import { removeAbandoned } from '../../ledger/store/file/work-folder.ts';

const BACKUP_NAME = /^ledger-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/;
/** The folder in which a backup is put together, up to what its name has at random. */
const UNFINISHED_NAME = /^ledger-\d{8}T\d{6}Z\.db\.part-/;

/** The name of a scheduled backup that is made now, such as `ledger-20260301T020000Z.db`. */
export function backupName(nowMs: number): string {
  return `ledger-${isoTime(nowMs).replaceAll(/[-:]/g, '').slice(0, 15)}Z.db`;
}

/** When the newest backup in the folder was made, ISO-8601 UTC; null when there is none. Those of the future do not count. */
export function newestBackup(folder: string, nowMs: number): string | null {
  const times = namesIn(folder).flatMap((name) => backupTime(name) ?? []);
  return (
    times
      .filter((time) => canHaveHappened(Date.parse(time), nowMs))
      .sort()
      .at(-1) ?? null
  );
}

/**
 * Deletes the oldest scheduled backups until `keep` are left, never the one at `newPath`, and what backups that were
 * killed have left. One of the future counts as older than any other. Nothing of another name is touched.
 *
 * @returns the names of the backups that were deleted.
 */
export function rotateBackups(newPath: string, keep: number, nowMs: number): string[] {
  const folder = dirname(newPath);
  const names = namesIn(folder);
  const others = names.filter((name) => backupTime(name) !== null && name !== basename(newPath)).sort();
  const isKnown = (name: string): boolean => canHaveHappened(Date.parse(backupTime(name) ?? ''), nowMs);
  const byAge = [...others.filter((name) => !isKnown(name)), ...others.filter(isKnown)];
  const old = byAge.slice(0, Math.max(0, byAge.length - (keep - 1)));
  for (const name of old) rmSync(join(folder, name));
  for (const name of names) {
    const prefix = UNFINISHED_NAME.exec(name)?.[0];
    if (prefix !== undefined) removeAbandoned(join(folder, prefix));
  }
  return old;
}

function backupTime(name: string): string | null {
  const parts = BACKUP_NAME.exec(name);
  if (parts === null) return null;
  const [, year, month, day, hour, minute, second] = parts;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
