import type { Config } from '../../config/types.ts';
import { folderFault } from '../../core/process/folder-fault.ts';
import { BACKUP_FOLDER_REMEDY } from '../../daemon/backup/backup-schedule.ts';
import { dueSlot } from '../../queue/slots.ts';
import { exportStanding, readExportState } from '../../reports/files/export-folder.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** After its slot a file has this long to be there. */
const PATIENCE_MS = 10 * 60_000;

/** Whether the daemon can put its backups together. Without backups in the configuration nothing is said. */
export function checkBackups({ backup }: Pick<Config, 'backup'>): Finding[] {
  if (backup === null) return [];
  const fault = folderFault(backup.folder);
  if (fault !== null) return [fail('backup', fault, BACKUP_FOLDER_REMEDY)];
  return [ok('backup', `${backup.folder} can be written to`)];
}

/** The files that the daemon writes for other tools: whether they come. Without any in the configuration nothing is said. */
export function checkExports({ exports }: Pick<Config, 'exports'>, nowMs: number): Finding[] {
  return exports.map(({ name, folder, cron }) => {
    const { at, eventSeq } = readExportState(folder, name);
    const { failing } = exportStanding({ folder, name });
    if (failing !== null) {
      const remedy = 'mend what the reason names; the daemon tries again every five minutes';
      const since = failing.since === null ? '' : ` since ${failing.since}`;
      return fail('exports', `no file${since}: ${failing.reason}`, remedy, name);
    }
    if (cron === null) return ok('exports', eventSeq === null ? 'waits for a close' : 'follows the closes', name);
    const isLate = dueSlot(cron, at, nowMs) !== null && dueSlot(cron, at, nowMs - PATIENCE_MS) !== null;
    if (isLate) {
      const last = at === null ? 'no file was made yet' : `the last file is of ${at}, and a later one was due`;
      return warn('exports', last, 'start the daemon, which writes it', name);
    }
    return ok('exports', `the last file is of ${at}`, name);
  });
}
