import type { OwnCause, OwnKind } from '../kind.ts';

export const syncStale: OwnKind = {
  kind: 'own',
  version: 1,
  title: 'missing run',
  severity: 'critical',
  isOfReading: true,
  explains: 1,
  docs: {
    holds:
      'no complete run for two of the longest pauses between ticks and a minute, and not because one still reads or waits, in two looks a minute apart',
  },
  causes: {
    '': {
      found: (where) => `The figures of ${where} are old`,
      over: (where) => `The figures of ${where} are complete again.`,
      todo: 'Run `usage-ledger doctor`; other alerts wait until the figures are complete.',
    },
  },
};

const SYNC_CAUSES = {
  service: {
    found: (where) => `${where} cannot be read`,
    over: (where) => `${where} can be read again.`,
    todo: 'Run `usage-ledger doctor`.',
    docs: 'all but the others',
  },
  credentials: {
    found: (where) => `The service refuses the credentials of ${where}`,
    over: (where) => `The service accepts the credentials of ${where} again.`,
    todo: 'Check key and secret, then run `usage-ledger doctor`.',
    docs: 'the service refused them',
  },
  clock: {
    found: (where) => `The clock of this machine is wrong, so the service refuses ${where}`,
    over: (where) => `The clock of this machine is right again, and ${where} can be read.`,
    todo: 'Set the clock, then run `usage-ledger doctor`.',
    docs: "it refused them, and this machine's clock differs from the service's by more than 30 seconds",
  },
  unproven: {
    found: (where) => `What the service lists of ${where} cannot be proven complete`,
    over: (where) => `What the service lists of ${where} is complete again.`,
    todo: 'Run `usage-ledger doctor`; the figures stay as they were read last.',
    docs: 'answers came that do not prove that they are all of it',
  },
} satisfies Record<string, OwnCause>;
export type SyncCause = keyof typeof SYNC_CAUSES;

export const syncFailed: OwnKind = {
  kind: 'own',
  version: 2,
  title: 'failed sync',
  severity: 'critical',
  isOfReading: true,
  explains: 2,
  docs: {
    holds: 'a run failed; one that may pass by itself is told at the second in a row. By its cause:',
  },
  causes: SYNC_CAUSES,
};

const JOBS = {
  alerting: {
    severity: 'critical',
    found: (where) => `Alert rules of ${where} fail`,
    over: (where) => `All alert rules of ${where} work again.`,
    todo: 'Run `usage-ledger doctor`; the figures count all the same.',
    docs: 'a rule could not look at what a run has read',
  },
  replica: {
    severity: 'critical',
    found: () => 'The copy in Postgres is late',
    over: () => 'The copy in Postgres has what the ledger has.',
    todo: 'Run `usage-ledger doctor`.',
    docs: 'nothing could be published to Postgres for longer than `publish.stale_minutes`',
  },
  channel: {
    severity: 'critical',
    found: (name) => `Channel ${name} fails`,
    over: (name) => `Channel ${name} works again.`,
    todo: 'Once it works, run `usage-ledger alerts replay --all-dead`.',
    docs: 'a channel refused a message, or has failed five times in a row',
  },
  disk: {
    severity: 'critical',
    found: () => 'The disk of the ledger needs attention',
    over: () => 'The disk of the ledger has room again, and can be written.',
    todo: 'Make room, or move the ledger to another disk; nothing that was read is lost.',
    docs: 'less than 500 MiB are free on the disk of the ledger, or less than it takes in a day, or it cannot be written',
  },
  backup: {
    severity: 'warning',
    found: () => 'The last backup failed',
    over: () => 'A backup was made again.',
    todo: 'Run `usage-ledger doctor`, and look at where backups are kept.',
    docs: 'the last scheduled backup could not be made',
  },
  checkpoint: {
    severity: 'warning',
    found: () => 'No signed checkpoint of the ledger can be written',
    over: () => 'Signed checkpoints of the ledger are written again.',
    todo: 'Check the folder of the ledger; the figures count all the same.',
    docs: 'no signed checkpoint of the head could be written after a run',
  },
  configuration: {
    severity: 'warning',
    found: () => 'The daemon refused a configuration and works by the one before',
    over: () => 'The daemon works by the configuration as it stands.',
    todo: 'Correct it and run `usage-ledger reload`.',
    docs: 'the daemon was to read its configuration again, and found a mistake in it',
  },
  export: {
    severity: 'warning',
    found: () => 'Exports fail',
    over: () => 'All exports are written again.',
    todo: 'Run `usage-ledger doctor`.',
    docs: 'a file of `exports:` could not be written at two tries, five minutes apart',
  },
  outlet: {
    severity: 'warning',
    found: (name) => `Outlet ${name} does not get all usage`,
    over: (name) => `Outlet ${name} has all usage again.`,
    todo: 'Run `usage-ledger outlets status`.',
    docs: 'an outlet is paused, takes nothing for an hour, refuses events or gets them too late, waits for names of tenants, or has something else than was sent there',
  },
  clock: {
    severity: 'warning',
    found: () => 'Times in the ledger lie ahead of the clock',
    over: () => 'No time in the ledger lies ahead of the clock any more.',
    todo: 'Keep the clock by NTP; what is due stays due.',
    docs: 'runs or closes of the ledger have times more than a minute to come: the clock was ahead and has been set back',
  },
} satisfies Record<string, OwnCause>;
export type Job = keyof typeof JOBS;

export const jobFailed: OwnKind & { causes: typeof JOBS } = {
  kind: 'own',
  version: 2,
  title: 'failure',
  severity: 'both',
  ofLedger: true,
  docs: { holds: 'other work of ours fails. By its cause:' },
  causes: JOBS,
};
