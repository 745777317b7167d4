import type { AppError } from '../core/errors.ts';

/** After these exit codes, process managers must not restart the daemon: a person has to change something first. */
export const NO_RESTART_EXIT_CODES = [2] as const;

const [NEEDS_CHANGE] = NO_RESTART_EXIT_CODES;
const MAY_RESTART = 1;

/** The exit code for each error code. Every other error exits with 1. */
const EXIT_CODES: Readonly<Record<string, number>> = {
  // The user must change the command line or configuration.
  usage: NEEDS_CHANGE,
  config: NEEDS_CHANGE,
  bad_period: NEEDS_CHANGE,
  unknown_workspace: NEEDS_CHANGE,
  unknown_channel: NEEDS_CHANGE,
  unclear_cards: NEEDS_CHANGE,
  // The user must set another file in `ledger.path`, or install another version of the program.
  ledger_unreadable: NEEDS_CHANGE,
  ledger_corrupt: NEEDS_CHANGE,
  ledger_is_folder: NEEDS_CHANGE,
  ledger_newer: NEEDS_CHANGE,
  ledger_too_old: NEEDS_CHANGE,
  not_a_ledger: NEEDS_CHANGE,
  // The user must change permissions, owners or locations.
  ledger_unwritable: NEEDS_CHANGE,
  not_permitted: NEEDS_CHANGE,
  not_a_folder: NEEDS_CHANGE,
  reader_group: NEEDS_CHANGE,
  unsafe_place: NEEDS_CHANGE,
  // Another daemon is using the ledger.
  daemon_running: NEEDS_CHANGE,
  // The user must repair the installation or choose another port.
  http_port: NEEDS_CHANGE,
  native_module: NEEDS_CHANGE,
  sqlite_too_old: NEEDS_CHANGE,
};

/**
 * Returns the exit code for an error. After an error that may pass without a change, such as a full disk, a restart is
 * allowed.
 */
export function exitCodeOf({ code, retryable }: Pick<AppError, 'code' | 'retryable'>): number {
  return retryable ? MAY_RESTART : (EXIT_CODES[code] ?? MAY_RESTART);
}
