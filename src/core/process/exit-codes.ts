import type { AppError } from '../errors.ts';

/** Exit codes that process managers must not restart after, because a person has to change something first. */
export const NO_RESTART_EXIT_CODES = [2] as const;

const [MISTAKE] = NO_RESTART_EXIT_CODES;
const FAILED = 1;

/** The exit code for each error code. Every other error exits with 1. */
const EXIT_CODES: Readonly<Record<string, number>> = {
  // The user must change the command line or configuration.
  usage: MISTAKE,
  config: MISTAKE,
  bad_period: MISTAKE,
  unknown_workspace: MISTAKE,
  unknown_channel: MISTAKE,
  unclear_cards: MISTAKE,
  // The user must choose another file for ledger.path, or another version of the program.
  ledger_unreadable: MISTAKE,
  ledger_corrupt: MISTAKE,
  ledger_is_folder: MISTAKE,
  ledger_newer: MISTAKE,
  ledger_too_old: MISTAKE,
  not_a_ledger: MISTAKE,
  // The user must change permissions, owners or locations.
  ledger_unwritable: MISTAKE,
  not_permitted: MISTAKE,
  not_a_folder: MISTAKE,
  reader_group: MISTAKE,
  unsafe_place: MISTAKE,
  // Another daemon has the ledger.
  daemon_running: MISTAKE,
  // The user must repair the installation or choose another port.
  http_port: MISTAKE,
  native_module: MISTAKE,
  sqlite_too_old: MISTAKE,
};

/**
 * Returns the exit code for an error. Errors that may pass without a change, such as a full disk, are worth a restart.
 */
export function exitCodeOf({ code, retryable }: Pick<AppError, 'code' | 'retryable'>): number {
  return retryable ? FAILED : (EXIT_CODES[code] ?? FAILED);
}
