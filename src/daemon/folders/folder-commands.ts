import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../core/process/folder-fault.ts';
import { removeAbandonedFolders } from '../../ledger/store/file/work-folder.ts';
import { backupFolderPrefix, unfinishedBackupPrefix } from '../../ledger/transfer/backup/backup.ts';
import {
  type ExportState,
  readExportState,
  readExportStatus,
  removeUnfinishedExports,
  rotateExports,
  writeExportState,
} from '../../reports/files/export-folder.ts';

/** The commands of the folder process. The first argument of each command is the folder, which a setting names. */
export const FOLDER_COMMANDS = {
  makeFolder,
  listNames,
  removeFiles(folder: string, names: readonly string[]): void {
    for (const name of names) rmSync(join(folder, name));
  },
  /** Removes the unfinished files of a backup with this name that a killed process left behind. */
  removeUnfinishedBackup(folder: string, name: string): void {
    removeAbandonedFolders(backupFolderPrefix(join(folder, name)));
  },
  removeUnfinishedBackups,
  readExportState,
  readExportStatus: (folder: string, name: string) => readExportStatus({ folder, name }),
  writeExportState: (folder: string, name: string, state: ExportState) => writeExportState(folder, name, state),
  removeUnfinishedExport: (folder: string, file: string): void => removeUnfinishedExports(join(folder, file)),
  rotateExports,
} as const;

/** Returns the names of the files in a folder; an empty list if the folder does not exist. */
export function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Removes the unfinished files of all backups that killed processes left behind. Keeps those of a backup in progress.
 */
export function removeUnfinishedBackups(folder: string): void {
  for (const name of listNames(folder)) {
    const prefix = unfinishedBackupPrefix(name);
    if (prefix !== null) removeAbandonedFolders(join(folder, prefix));
  }
}
