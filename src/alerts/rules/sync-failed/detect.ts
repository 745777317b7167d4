import { holds } from '../judgement.ts';
import { type Observation, systemObservation } from '../observation.ts';
import type { SyncCause } from './kind.ts';

/** A larger clock difference can make a signature look expired or premature. */
const NOTABLE_SKEW_MS = 30_000;

/** Codes of runs in which the service answered, but its listing could not be verified as complete. */
const UNPROVEN: readonly string[] = ['unstable', 'suspicious_empty', 'suspicious_shrink', 'implausible_listing'];

/** A run that applied nothing because of a fault that needs attention. */
export interface RunFault {
  code: string;
  retryable: boolean;
  /** This machine's clock minus the service's, in milliseconds; null if the service sent no time. */
  clockSkewMs: number | null;
  message: string;
}

/**
 * Judges a failed run. A fault that may be temporary must occur in a second run before anyone is notified. Refused
 * credentials and a wrong clock are not temporary.
 */
export function judgeFailedRun({ code, retryable, clockSkewMs, message }: RunFault): Observation {
  const failing = (cause: SyncCause, confirmAfterMs: number | null) => {
    const judgement = holds({ level: 'happened', severity: 'critical', threshold: null, confirmAfterMs });
    return systemObservation('sync_failed', cause, judgement, message);
  };
  if (code === 'unauthorized' || code === 'forbidden') {
    return failing(Math.abs(clockSkewMs ?? 0) > NOTABLE_SKEW_MS ? 'clock' : 'credentials', null);
  }
  return failing(UNPROVEN.includes(code) ? 'unproven' : 'service', retryable ? 0 : null);
}
