/** The request of the daemon to the child process that runs the checks of `doctor`. */
export interface DoctorJob {
  /** The configuration file; null: the environment has the configuration. */
  file: string | null;
  cwd: string;
}

/** The name of the check that finds the newest backup. */
export const LAST_BACKUP_CHECK = 'last backup';
