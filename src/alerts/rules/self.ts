import { clear, holds, type Judgement, type Severity } from './rule.ts';
import type { SelfRule } from './table.ts';

/** Beyond this a signature can look expired or premature to the service. */
const NOTABLE_SKEW_MS = 30_000;

/** What keeps a workspace from being read. */
const SYNC_CAUSES = ['service', 'credentials', 'clock', 'unproven'] as const;
export type SyncCause = (typeof SYNC_CAUSES)[number];

/** Our own work beside reading, with how bad it is when it fails. */
const JOBS = {
  ...{ alerting: 'critical', replica: 'critical', channel: 'critical' },
  ...{ export: 'warning', backup: 'warning', checkpoint: 'warning', clock: 'warning' },
} as const satisfies Record<string, Severity>;
export type Job = keyof typeof JOBS;

/** What the causes of a rule's alerts begin with: one of a channel or an export goes on with its name. */
export const OWN_CAUSES: Readonly<Record<SelfRule, readonly string[]>> = {
  sync_stale: [],
  sync_failed: SYNC_CAUSES,
  job_failed: Object.keys(JOBS),
};

/** Answers that came, and did not prove that they are all of it. */
const UNPROVEN: readonly string[] = ['unstable', 'suspicious_empty', 'implausible_listing'];

/** How a run ended that applied nothing. */
export interface FailedRun {
  code: string;
  retryable: boolean;
  /** Our clock minus the service's, milliseconds; null when the service did not say. */
  clockSkewMs: number | null;
}

/**
 * What a failed run says about ourselves. A fault that may pass by itself must be there in a second run before anybody
 * is told; credentials and clocks do not mend themselves.
 */
export function judgeFailedRun({ code, retryable, clockSkewMs }: FailedRun): {
  cause: SyncCause;
  judgement: Judgement;
} {
  const refused = code === 'unauthorized' || code === 'forbidden';
  if (refused) {
    const isSkewed = Math.abs(clockSkewMs ?? 0) > NOTABLE_SKEW_MS;
    return { cause: isSkewed ? 'clock' : 'credentials', judgement: failing(null) };
  }
  return { cause: UNPROVEN.includes(code) ? 'unproven' : 'service', judgement: failing(retryable ? 0 : null) };
}

/** A job has failed, or with null does so no more. */
export function judgeJob(job: Job, detail: string | null): Judgement {
  if (detail === null) return clear(true);
  return holds({ level: 'happened', severity: JOBS[job], threshold: null });
}

/** No complete run for longer than a workspace may take. */
export function judgeStale(sinceMs: number, staleAfterMs: number): Judgement | null {
  return sinceMs > staleAfterMs ? failing(null) : null;
}

function failing(confirmAfterMs: number | null): Judgement {
  return holds({ level: 'happened', severity: 'critical', threshold: null, confirmAfterMs });
}
