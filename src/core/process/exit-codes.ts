import type { AppError } from '../errors.ts';

/** What a person has to change first: process managers leave a program at these, and start it again after any other. */
export const LASTING_EXIT_CODES = [2] as const;

const [MISTAKE] = LASTING_EXIT_CODES;
const FAILED = 1;

/** The exit code of what an error has ended, by the error's code; 1 for those that are not here. */
const EXIT_CODES: Readonly<Record<string, number>> = {
  // Another command line or configuration.
  usage: MISTAKE,
  config: MISTAKE,
  bad_period: MISTAKE,
  unknown_workspace: MISTAKE,
  unknown_channel: MISTAKE,
  unclear_cards: MISTAKE,
  // Another file at ledger.path, or another version of the program.
  ledger_unreadable: MISTAKE,
  ledger_corrupt: MISTAKE,
  ledger_is_folder: MISTAKE,
  ledger_newer: MISTAKE,
  ledger_too_old: MISTAKE,
  not_a_ledger: MISTAKE,
  // Other rights, owners or places.
  ledger_unwritable: MISTAKE,
  not_permitted: MISTAKE,
  not_a_folder: MISTAKE,
  reader_group: MISTAKE,
  unsafe_place: MISTAKE,
  // Another daemon goes on with the ledger.
  daemon_running: MISTAKE,
  // Another installation, or another port.
  http_port: MISTAKE,
  native_module: MISTAKE,
  sqlite_too_old: MISTAKE,
};

/** What may pass by itself, such as a full disk, is worth a new start. */
export function exitCodeOf({ code, retryable }: Pick<AppError, 'code' | 'retryable'>): number {
  return retryable ? FAILED : (EXIT_CODES[code] ?? FAILED);
}
