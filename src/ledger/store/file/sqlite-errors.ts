import { AppError, type AppErrorOptions } from '../../../core/errors.ts';

interface Remedy {
  code: string;
  retryable: boolean;
  hint: string;
}

/** The first that a result code of SQLite begins with. Of what only begins alike, the more exact stands first. */
const REMEDIES: readonly (readonly [prefix: string, remedy: Remedy])[] = [
  ['SQLITE_BUSY', remedy('ledger_busy', true, 'another process is writing to the ledger; this is tried again')],
  ['SQLITE_FULL', remedy('ledger_disk', true, 'make room on the disk of the ledger; nothing was changed')],
  [
    // SQLite says so of a full disk too: the file of shared memory cannot be made, or not be made large enough.
    'SQLITE_IOERR_SHM',
    remedy(
      'ledger_disk',
      true,
      "make room on the disk of the ledger, which needs a -shm file beside it; the ledger's file is not the fault",
    ),
  ],
  [
    'SQLITE_IOERR',
    remedy(
      'ledger_io',
      true,
      'the disk has failed a read or a write: see the system log (dmesg), the quota and the disk; then run `usage-ledger verify`',
    ),
  ],
  [
    'SQLITE_READONLY_DBMOVED',
    remedy('ledger_replaced', true, 'the file of the ledger was replaced: restart what has the old one open'),
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

/** An error of SQLite as one of ours, which says whether it passes by itself and what helps; null for any other. */
export function ledgerErrorOf(error: unknown): LedgerError | null {
  if (!(error instanceof Error) || !('code' in error)) return null;
  const code = String(error.code);
  const found = REMEDIES.find(([prefix]) => code.startsWith(prefix))?.[1];
  if (found === undefined) return null;
  return new LedgerError(found.code, error.message, { retryable: found.retryable, hint: found.hint, cause: error });
}

/** The disk, the file or another process is to blame, and not what a statement was given. */
export function isMachineFault(error: unknown): boolean {
  const found = ledgerErrorOf(error);
  return found !== null && found.code !== 'change_too_large';
}

function remedy(code: string, retryable: boolean, hint: string): Remedy {
  return { code, retryable, hint };
}

function unwritable(): Remedy {
  return remedy(
    'ledger_unwritable',
    true,
    'give the user that runs usage-ledger the right to write the ledger and its folder',
  );
}

export class LedgerError extends AppError {}

/** Another run was applied, or took the lease, since this one claimed its workspace: it must not be applied any more. */
export class FencedError extends AppError {
  constructor(message: string, options: AppErrorOptions = {}) {
    super('fenced', message, { retryable: true, ...options });
  }
}

export class LeaseHeldError extends AppError {
  /** How long until the lease expires if its holder is gone, in milliseconds. */
  readonly retryAfterMs: number;

  constructor(workspaceId: string, holder: string, retryAfterMs: number) {
    super('lease_held', `workspace ${JSON.stringify(workspaceId)} is being synced by ${holder}`, {
      retryable: true,
      hint: 'wait until that run has ended; a dead holder is taken over when its lease expires',
    });
    this.retryAfterMs = retryAfterMs;
  }
}
