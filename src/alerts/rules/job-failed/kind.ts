import type { CauseKind, SystemKind } from '../kind.ts';

const JOB_CAUSES = {
  alerting: {
    severity: 'critical',
    docs: 'a rule failed on the records of a run',
  },
  replica: {
    severity: 'critical',
    docs: 'nothing could be published to Postgres for longer than `publish.stale_minutes`',
  },
  channel: {
    severity: 'critical',
    docs: 'a channel refused a message, or has failed five times in a row',
  },
  disk: {
    severity: 'critical',
    docs: 'the disk of the ledger has less than 500 MiB free or less than a day needs, or the ledger cannot be written',
  },
  backup: {
    severity: 'warning',
    docs: 'the last scheduled backup failed',
  },
  checkpoint: {
    severity: 'warning',
    docs: 'no signed checkpoint of the head could be written after a run',
  },
  configuration: {
    severity: 'warning',
    docs: 'the daemon reloaded its configuration and found a mistake',
  },
  export: {
    severity: 'warning',
    docs: 'a file of `exports:` could not be written in two attempts, five minutes apart',
  },
  outlet: {
    severity: 'warning',
    docs: 'an outlet is paused, accepts nothing for an hour, refuses events or gets them too late, lacks names of tenants, or its usage does not match the sent usage',
  },
  clock: {
    severity: 'warning',
    docs: 'runs or closes of the ledger have times more than a minute in the future: the clock was ahead and was set back',
  },
} satisfies Record<string, CauseKind>;
export type Job = keyof typeof JOB_CAUSES;

export const jobFailedKind: SystemKind & { causes: typeof JOB_CAUSES } = {
  version: 2,
  title: 'failure',
  severity: 'both',
  scope: 'ledger',
  docs: { holds: 'another job fails. By cause:' },
  causes: JOB_CAUSES,
};
