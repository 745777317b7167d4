import { isDamage } from '../../store/file/ledger-file.ts';
import { LedgerError } from '../../store/file/sqlite-errors.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { type VerifyReport, verifyLedger } from './verify.ts';

export interface SuspectFile {
  /** Such as `the copy of /data/ledger.db`. */
  what: string;
  hint: string;
}

/** Everything that must hold of a ledger; the first fault is thrown as the error `backup_faulty`. */
export function verifySound(connection: LedgerDb, suspect: SuspectFile): VerifyReport {
  const report = verifyLedger(connection);
  const [first, ...others] = report.faults;
  if (first === undefined) return report;
  const { check, runId, entryId, message } = first;
  const place = [runId, entryId === null ? null : `entry ${entryId}`].filter((part) => part !== null).join(', ');
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  throw faulty(suspect, `${check}: ${place === '' ? '' : `${place}: `}${message}${more}`);
}

/** Turns what SQLite says of a damaged file into the error `backup_faulty`; anything else stays as it is. */
export function faultOf(error: unknown, suspect: SuspectFile): unknown {
  return isDamage(error) ? faulty(suspect, error.message, error) : error;
}

function faulty({ what, hint }: SuspectFile, fault: string, cause?: unknown): LedgerError {
  return new LedgerError('backup_faulty', `${what} is not sound: ${fault}`, { hint, cause });
}
