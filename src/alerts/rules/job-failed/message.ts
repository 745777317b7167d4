import type { CauseMessage } from '../message.ts';
import type { Job } from './kind.ts';

export const jobFailedMessage: Readonly<Record<Job, CauseMessage>> = {
  alerting: {
    found: (where) => `Alert rules of ${where} fail`,
    ended: (where) => `All alert rules of ${where} work again`,
    todo: 'Run `usage-ledger doctor`; the figures are not affected.',
  },
  replica: {
    found: () => 'The copy in Postgres is out of date',
    ended: () => 'The copy in Postgres is up to date',
    todo: 'Run `usage-ledger doctor`.',
  },
  channel: {
    found: (name) => `Channel ${name} fails`,
    ended: (name) => `Channel ${name} works again`,
    todo: 'Once it works, run `usage-ledger alerts replay --all-dead`.',
  },
  disk: {
    found: () => 'The disk of the ledger needs attention',
    ended: () => 'The disk of the ledger has room and can be written again',
    todo: 'Free some space, or move the ledger to another disk; no recorded figure is lost.',
  },
  backup: {
    found: () => 'The last backup failed',
    ended: () => 'Backups work again',
    todo: 'Run `usage-ledger doctor`, and check the place where backups are stored.',
  },
  checkpoint: {
    found: () => 'No signed checkpoint of the ledger can be written',
    ended: () => 'Signed checkpoints of the ledger are written again',
    todo: 'Check the folder of the ledger; the figures are not affected.',
  },
  configuration: {
    found: () => 'The daemon rejected a changed configuration and keeps the previous one',
    ended: () => 'The daemon uses the current configuration',
    todo: 'Correct it and run `usage-ledger reload`.',
  },
  export: {
    found: () => 'Exports fail',
    ended: () => 'All exports are written again',
    todo: 'Run `usage-ledger doctor`.',
  },
  outlet: {
    found: (name) => `Outlet ${name} does not get all usage`,
    ended: (name) => `Outlet ${name} has all usage again`,
    todo: 'Run `usage-ledger outlets status`.',
  },
  clock: {
    found: () => 'Times in the ledger are ahead of the clock',
    ended: () => 'No time in the ledger is ahead of the clock any more',
    todo: 'Synchronize the clock with NTP; no scheduled work is lost.',
  },
};
