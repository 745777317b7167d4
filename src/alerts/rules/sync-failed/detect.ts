import { holds } from '../judgement.ts';
import { type Observation, ownObservation } from '../observation.ts';
import type { SyncCause } from './kind.ts';

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
