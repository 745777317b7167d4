/** What the daemon asks of its process that examines the program. */
export interface DoctorJob {
  /** The configuration file; null: the environment has the configuration. */
  file: string | null;
  cwd: string;
}

/** The check that finds the newest backup. */
export const LAST_BACKUP_CHECK = 'last backup';
