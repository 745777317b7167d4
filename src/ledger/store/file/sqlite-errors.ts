import { AppError, type AppErrorOptions } from '../../../core/errors.ts';

interface Remedy {
  code: string;
  retryable: boolean;
  hint: string;
}

/** Remedies by prefix of the SQLite result code. The first match applies, so longer prefixes come first. */
const SQLITE_REMEDIES: readonly (readonly [prefix: string, remedy: Remedy])[] = [
  ['SQLITE_BUSY', remedy('ledger_busy', true, 'another process is writing to the ledger; the operation is retried')],
  ['SQLITE_FULL', remedy('ledger_disk', true, 'free space on the disk of the ledger; nothing was changed')],
  [
    // SQLite reports a full disk with this code when it cannot create or extend the -shm file.
    'SQLITE_IOERR_SHM',
    remedy(
      'ledger_disk',
      true,
      'free space on the disk of the ledger, which needs a -shm file in the same folder; the ledger file itself is intact',
    ),
  ],
  [
    'SQLITE_IOERR',
    remedy(
      'ledger_io',
      true,
      'a disk read or write failed: check the system log (dmesg), the quota and the disk, then run `usage-ledger verify`',
    ),
  ],
  [
    'SQLITE_READONLY_DBMOVED',
    remedy('ledger_replaced', true, 'the ledger file was replaced: restart the processes that have the old file open'),
  ],
  ['SQLITE_READONLY', unwritable()],
  ['SQLITE_CANTOPEN', unwritable()],
  ['SQLITE_PERM', unwritable()],
  ['SQLITE_CORRUPT', remedy('ledger_corrupt', false, 'restore the ledger from a backup')],
  ['SQLITE_NOTADB', remedy('ledger_corrupt', false, 'check ledger.path, or restore the ledger from a backup')],
  [
    'SQLITE_CONSTRAINT_DATATYPE',
    remedy('change_too_large', false, 'a figure changed by more than 2^63-1; nothing was applied'),
  ],
];

/** Converts an SQLite error into a LedgerError with a hint and whether a retry can help; null for any other error. */
export function toLedgerError(error: unknown): LedgerError | null {
  if (!(error instanceof Error) || !('code' in error)) return null;
  const code = String(error.code);
  const found = SQLITE_REMEDIES.find(([prefix]) => code.startsWith(prefix))?.[1];
  if (found === undefined) return null;
  return new LedgerError(found.code, error.message, { retryable: found.retryable, hint: found.hint, cause: error });
}

/**
 * Reports whether an SQLite error comes from the disk, the file or another process, not from the values in a statement.
 */
export function isMachineFault(error: unknown): boolean {
  const found = toLedgerError(error);
  return found !== null && found.code !== 'change_too_large';
}

function remedy(code: string, retryable: boolean, hint: string): Remedy {
  return { code, retryable, hint };
}

function unwritable(): Remedy {
  return remedy(
    'ledger_unwritable',
    true,
    'give the user that runs usage-ledger write permission on the ledger and its folder',
  );
}

export class LedgerError extends AppError {}

/**
 * Another run has been applied or has taken the lease since this run claimed its workspace. This run must not be
 * applied.
 */
export class FencedError extends AppError {
  constructor(message: string, options: AppErrorOptions = {}) {
    super('fenced', message, { retryable: true, ...options });
  }
}

export class LeaseHeldError extends AppError {
  /** Milliseconds until the lease expires, if the process that holds it has ended. */
  readonly retryAfterMs: number;

  constructor(workspaceId: string, holder: string, retryAfterMs: number) {
    super('lease_held', `workspace ${JSON.stringify(workspaceId)} is being synced by ${holder}`, {
      retryable: true,
      hint: 'wait until that run ends; if its process has died, retry when the lease expires',
    });
    this.retryAfterMs = retryAfterMs;
  }
}
