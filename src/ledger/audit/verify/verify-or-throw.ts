import { isDamagedFileError } from '../../store/file/ledger-file.ts';
import { LedgerError } from '../../store/file/sqlite-errors.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { type VerifyReport, verifyLedger } from './verify.ts';

export interface SuspectFile {
  /** The words that messages use for the file, such as `the copy of /data/ledger.db`. */
  what: string;
  hint: string;
}

/** Verifies a ledger completely. Throws `backup_faulty`, with the first fault in its message, if there are faults. */
export function verifyOrThrow(connection: LedgerDb, suspect: SuspectFile): VerifyReport {
  const report = verifyLedger(connection);
  const [first, ...others] = report.faults;
  if (first === undefined) return report;
  const { check, runId, entryId, message } = first;
  const place = [runId, entryId === null ? null : `entry ${entryId}`].filter((part) => part !== null).join(', ');
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  throw suspectFileError(suspect, `${check}: ${place === '' ? '' : `${place}: `}${message}${more}`);
}

/** Converts an SQLite error about a damaged file into `backup_faulty`; returns any other error unchanged. */
export function toDamagedFileError(error: unknown, suspect: SuspectFile): unknown {
  return isDamagedFileError(error) ? suspectFileError(suspect, error.message, error) : error;
}

function suspectFileError({ what, hint }: SuspectFile, fault: string, cause?: unknown): LedgerError {
  return new LedgerError('backup_faulty', `${what} failed verification: ${fault}`, { hint, cause });
}
