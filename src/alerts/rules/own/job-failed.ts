import { clear, holds, type Severity } from '../../measures/judgement.ts';
import { type Observation, ownObservation } from '../../measures/observation.ts';
import type { OwnRule, OwnWords } from '../rule.ts';

/** Our own work beside reading, with how bad it is when it fails; a name is that of a workspace or of a channel. */
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
    found: () => 'The disk of the ledger fills up, or fails',
    over: () => 'The disk of the ledger has room, and is written.',
    todo: 'Make room, or give it a larger disk; nothing that was read is lost.',
    docs: 'less than 500 MiB are free on the disk of the ledger, or less than it takes in a day, or it cannot be written',
  },
  backup: {
    severity: 'warning',
    found: () => 'The last backup failed',
    over: () => 'A backup was made again.',
    todo: 'Run `usage-ledger doctor`, and look at the disk of the backups.',
    docs: 'the last scheduled backup could not be made',
  },
  checkpoint: {
    severity: 'warning',
    found: () => 'No signed checkpoint of the ledger can be written',
    over: () => 'Signed checkpoints of the ledger are written again.',
    todo: 'Check the folder of the ledger; the figures count all the same.',
    docs: 'no signed checkpoint of the head could be written after a run',
  },
  export: {
    severity: 'warning',
    found: () => 'Exports fail',
    over: () => 'All exports are written again.',
    todo: 'Run `usage-ledger doctor`.',
    docs: 'a file of `exports:` could not be written at two tries, five minutes apart',
  },
  clock: {
    severity: 'warning',
    found: () => 'The clock of this machine was set back',
    over: () => 'No time in the ledger lies ahead of the clock any more.',
    todo: 'Keep the clock by NTP; what is due stays due.',
    docs: 'runs or closes of the ledger have times more than a minute to come: the clock was ahead and has been set back',
  },
} satisfies Record<string, OwnWords & { severity: Severity; docs: string }>;
export type Job = keyof typeof JOBS;

/** Other work of ours has failed. */
export const jobFailed: OwnRule = {
  ...{ kind: 'own', version: 2, title: 'failure', severity: 'both' },
  ...{ causes: Object.keys(JOBS), ofLedger: true },
  docs: {
    tells: 'other work of ours fails',
    holds: {
      '': 'other work of ours fails. By its cause:',
      ...Object.fromEntries(Object.entries(JOBS).map(([job, { docs }]) => [job, docs])),
    },
    severity: Object.fromEntries(Object.entries(JOBS).map(([job, { severity }]) => [job, severity])),
  },
  words: (cause = 'alerting') => JOBS[cause as Job],
};

/** What is wrong with a job, in words; null: nothing any more. */
export interface JobNews {
  job: Job;
  /** Whose it is; absent where there is one. */
  of?: string;
  detail: string | null;
}

export function judgeJob({ job, of, detail }: JobNews): Observation & { cause: string } {
  const cause = of === undefined ? job : `${job}:${of}`;
  const { severity } = JOBS[job];
  const judgement = detail === null ? clear(true) : holds({ level: 'happened', severity, threshold: null });
  return { ...ownObservation('job_failed', cause, judgement, detail), cause };
}
