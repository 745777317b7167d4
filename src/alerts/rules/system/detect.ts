import { formatDuration } from '../../../core/text/words.ts';
import { clear, holds } from '../judgement.ts';
import { type Observation, ownObservation } from '../observation.ts';
import { type Job, jobFailed, type SyncCause } from './kind.ts';

/** What is wrong with other work of ours, in words; null: nothing any more. */
export interface JobHealth {
  job: Job;
  /** Whose it is, of a workspace or of a channel; absent where there is one. */
  of?: string;
  detail: string | null;
}

export function judgeJob({ job, of, detail }: JobHealth): Observation & { cause: string } {
  const cause = of === undefined ? job : `${job}:${of}`;
  const { severity } = jobFailed.causes[job];
  const judgement = detail === null ? clear(true) : holds({ level: 'happened', severity, threshold: null });
  return { ...ownObservation('job_failed', cause, judgement, detail), cause };
}

/** Beyond this a signature can look expired or premature to the service. */
const NOTABLE_SKEW_MS = 30_000;

/** Answers that came, and did not prove that they are all of it. */
const UNPROVEN: readonly string[] = ['unstable', 'suspicious_empty', 'suspicious_shrink', 'implausible_listing'];

/** A run that applied nothing through a fault that somebody has to know of. */
export interface RunFault {
  code: string;
  retryable: boolean;
  /** Our clock minus the service's, milliseconds; null when the service did not say. */
  clockSkewMs: number | null;
  message: string;
}

/**
 * What a failed run says about ourselves. A fault that may pass by itself must be there in a second run before anybody
 * is told; credentials and clocks do not mend themselves.
 */
export function judgeFailedRun({ code, retryable, clockSkewMs, message }: RunFault): Observation {
  const failing = (cause: SyncCause, confirmAfterMs: number | null) => {
    const judgement = holds({ level: 'happened', severity: 'critical', threshold: null, confirmAfterMs });
    return ownObservation('sync_failed', cause, judgement, message);
  };
  if (code === 'unauthorized' || code === 'forbidden') {
    return failing(Math.abs(clockSkewMs ?? 0) > NOTABLE_SKEW_MS ? 'clock' : 'credentials', null);
  }
  return failing(UNPROVEN.includes(code) ? 'unproven' : 'service', retryable ? 0 : null);
}

/** Null: it is not stale. */
export function judgeStale(sinceMs: number, staleAfterMs: number): Observation | null {
  if (sinceMs <= staleAfterMs) return null;
  const judgement = holds({ level: 'happened', severity: 'critical', threshold: null });
  return ownObservation('sync_stale', null, judgement, `no complete run for ${formatDuration(sinceMs)}`);
}
