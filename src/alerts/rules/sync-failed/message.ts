import type { CauseMessage } from '../message.ts';
import type { SyncCause } from './kind.ts';

export const syncFailedMessage: Readonly<Record<SyncCause, CauseMessage>> = {
  service: {
    found: (where) => `${where} cannot be read`,
    ended: (where) => `${where} can be read again`,
    todo: 'Run `usage-ledger doctor`.',
  },
  credentials: {
    found: (where) => `The service refuses the credentials of ${where}`,
    ended: (where) => `The service accepts the credentials of ${where} again`,
    todo: 'Check key and secret, then run `usage-ledger doctor`.',
  },
  clock: {
    found: (where) => `The clock of this machine is wrong, so the service refuses ${where}`,
    ended: (where) => `The clock of this machine is right again, and ${where} can be read`,
    todo: 'Set the clock, then run `usage-ledger doctor`.',
  },
  unproven: {
    found: (where) => `The listing of ${where} cannot be verified as complete`,
    ended: (where) => `The listing of ${where} is complete again`,
    todo: 'Run `usage-ledger doctor`; the figures of the last complete run remain.',
  },
};
