import type { Job } from '../alerts/rules/job-failed/kind.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/durations.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../core/periodic-task.ts';
import { ReportedHealth, type ReportedHealthOptions } from './reported-health.ts';

interface DaemonJob {
  /** How often the job runs; null if the interval is a setting. */
  readonly intervalMs: number | null;
  /** True if the job also runs immediately when it is started. */
  readonly atOnce: boolean;
  /** A run of the job is aborted after this time. */
  readonly deadlineMs: number;
  /**
   * The cause of the alert that is open while the job fails, and when the alert is reported again; null if the job has
   * no alert.
   */
  readonly alert:
    | ({ readonly cause: Job } & Pick<ReportedHealthOptions, 'compareBy'> & { readonly repeatMs?: number })
    | null;
  /** The log message when a run of the job throws. */
  readonly failed: string;
}

/**
 * Every recurring job of the daemon. `startJob` runs a job with its deadline, and `healthOf` reports each change of a
 * job's health once. The work of a job is in the file that calls `startJob`.
 */
export const JOBS = {
  disk: {
    intervalMs: MINUTE_MS,
    atOnce: true,
    deadlineMs: 5 * MINUTE_MS,
    alert: { cause: 'disk', compareBy: 'state' },
    failed: 'could not check the ledger disk',
  },
  clock: {
    intervalMs: MINUTE_MS,
    atOnce: true,
    deadlineMs: 5 * MINUTE_MS,
    // The alert is reported repeatedly, because a command on a machine with another clock may have changed it.
    alert: { cause: 'clock', compareBy: 'state', repeatMs: 10 * MINUTE_MS },
    failed: 'could not check for times in the future',
  },
  checkpoint: {
    intervalMs: 15 * SECOND_MS,
    atOnce: false,
    deadlineMs: 5 * MINUTE_MS,
    alert: null,
    failed: 'could not checkpoint the write-ahead log',
  },
  retention: {
    intervalMs: HOUR_MS,
    atOnce: true,
    deadlineMs: 10 * MINUTE_MS,
    alert: null,
    failed: 'could not prune the ledger',
  },
  backup: {
    intervalMs: 15 * SECOND_MS,
    atOnce: true,
    deadlineMs: 6 * HOUR_MS,
    // Every attempt is reported, because attempts are rare, and each report updates the alert in the ledger.
    alert: { cause: 'backup', compareBy: 'detail', repeatMs: 0 },
    failed: 'backup failed',
  },
  exports: {
    intervalMs: 15 * SECOND_MS,
    atOnce: true,
    deadlineMs: 6 * HOUR_MS,
    alert: { cause: 'export', compareBy: 'detail' },
    failed: 'could not write the alert about exports',
  },
  publish: {
    intervalMs: 2 * SECOND_MS,
    atOnce: false,
    deadlineMs: 6 * HOUR_MS,
    alert: null,
    failed: 'could not check the ledger for changes',
  },
  publishHealth: {
    intervalMs: MINUTE_MS,
    atOnce: false,
    deadlineMs: 5 * MINUTE_MS,
    alert: { cause: 'replica', compareBy: 'detail' },
    failed: 'could not write an alert',
  },
  forward: {
    intervalMs: SECOND_MS,
    atOnce: false,
    deadlineMs: 6 * HOUR_MS,
    alert: null,
    failed: 'could not forward entries to an outlet',
  },
  outletHealth: {
    intervalMs: 15 * SECOND_MS,
    atOnce: false,
    deadlineMs: HOUR_MS,
    alert: { cause: 'outlet', compareBy: 'detail' },
    failed: 'could not write an alert',
  },
  stale: {
    intervalMs: MINUTE_MS,
    atOnce: false,
    deadlineMs: 5 * MINUTE_MS,
    alert: null,
    failed: 'could not check for stale workspaces',
  },
  heartbeat: {
    intervalMs: null,
    atOnce: true,
    deadlineMs: 5 * MINUTE_MS,
    alert: null,
    failed: 'could not send a heartbeat',
  },
  idle: {
    intervalMs: MINUTE_MS,
    atOnce: false,
    deadlineMs: 5 * MINUTE_MS,
    alert: null,
    failed: 'could not release memory',
  },
} as const satisfies Record<string, DaemonJob>;

type JobName = keyof typeof JOBS;
type JobWithAlert = { [Name in JobName]: (typeof JOBS)[Name]['alert'] extends null ? never : Name }[JobName];
type JobWithSetting = { [Name in JobName]: (typeof JOBS)[Name]['intervalMs'] extends null ? Name : never }[JobName];

export type JobDeps = Pick<PeriodicTaskOptions, 'clock' | 'logger'>;

/** Starts a job with the interval that `JOBS` has for it. */
export function startJob(
  name: Exclude<JobName, JobWithSetting>,
  deps: JobDeps,
  work: PeriodicTaskOptions['work'],
): PeriodicTask {
  return startWithInterval(name, JOBS[name].intervalMs, deps, work);
}

/** Starts a job whose interval is a setting. */
export function startWithInterval(
  name: JobName,
  intervalMs: number,
  { clock, logger }: JobDeps,
  work: PeriodicTaskOptions['work'],
): PeriodicTask {
  const { atOnce, deadlineMs, failed } = JOBS[name];
  return startPeriodicTask({ clock, logger, intervalMs, atOnce, deadlineMs, failed, work });
}

/**
 * Returns an object that calls `report` for each change of a job's health. If `report` returns false, nothing was
 * recorded, and `report` is called again with the next health.
 */
export function healthOf(
  name: JobWithAlert,
  clock: ReportedHealthOptions['clock'],
  report: (detail: string | null) => Promise<unknown>,
): ReportedHealth {
  const alert: NonNullable<DaemonJob['alert']> = JOBS[name].alert;
  return new ReportedHealth({
    clock,
    compareBy: alert.compareBy,
    repeatMs: alert.repeatMs ?? null,
    report: async (detail) => (await report(detail)) !== false,
  });
}
