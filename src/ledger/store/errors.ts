import { AppError, type AppErrorOptions } from '../../core/errors.ts';

/** The ledger cannot be opened, read or written. */
export class LedgerError extends AppError {}

/** Another run was applied, or took the lease, since this one claimed its workspace: it must not be applied any more. */
export class FencedError extends AppError {
  constructor(message: string, options: AppErrorOptions = {}) {
    super('fenced', message, { retryable: true, ...options });
  }
}

/** Another live run holds the workspace. */
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
