import { isoTime } from '../../../core/clock.ts';
import { canHaveHappened } from '../../../core/stored-time.ts';

const BACKUP_NAME = /^ledger-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/;

/** The name of a scheduled backup that is made now, such as `ledger-20260301T020000Z.db`. */
export function backupName(nowMs: number): string {
  return `ledger-${isoTime(nowMs).replaceAll(/[-:]/g, '').slice(0, 15)}Z.db`;
}

/** When a backup of this name was made, ISO-8601 UTC; null for a name that is none of a scheduled backup. */
export function backupTime(name: string): string | null {
  const parts = BACKUP_NAME.exec(name);
  if (parts === null) return null;
  const [, year, month, day, hour, minute, second] = parts;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
}

/** The newest of these names that is one of a scheduled backup; null when there is none. Those of the future do not count. */
export function newestBackup(names: readonly string[], nowMs: number): string | null {
  return (
    names
      .filter((name) => isKnown(name, nowMs))
      .sort()
      .at(-1) ?? null
  );
}

/**
 * The oldest scheduled backups, which are too many when `keep` are to stay; never the one of `newName`. One of the future
 * counts as older than any other. Other names are not among them.
 */
export function oldBackups(names: readonly string[], newName: string, keep: number, nowMs: number): string[] {
  const others = names.filter((name) => backupTime(name) !== null && name !== newName).sort();
  const ahead = others.filter((name) => !isKnown(name, nowMs));
  const byAge = [...ahead, ...others.filter((name) => isKnown(name, nowMs))];
  return byAge.slice(0, Math.max(0, byAge.length - (keep - 1)));
}

function isKnown(name: string, nowMs: number): boolean {
  const time = backupTime(name);
  return time !== null && canHaveHappened(Date.parse(time), nowMs);
}
