import { holds } from '../../measures/judgement.ts';
import { type Observation, ownObservation } from '../../measures/observation.ts';
import type { OwnRule, OwnWords } from '../rule.ts';

/** What keeps a workspace from being read, and what is said of it. */
const CAUSES = {
  service: {
    found: (where) => `${where} cannot be read`,
    over: (where) => `${where} can be read again.`,
    todo: 'Run `usage-ledger doctor`.',
    docs: 'all but the others',
  },
  credentials: {
    found: (where) => `The service refuses the credentials of ${where}`,
    over: (where) => `The service accepts the credentials of ${where} again.`,
    todo: 'Check its key and secret, then run `usage-ledger doctor`.',
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
} satisfies Record<string, OwnWords & { docs: string }>;
type SyncCause = keyof typeof CAUSES;

/** A run has failed. */
export const syncFailed: OwnRule = {
  kind: 'own',
  version: 2,
  title: 'failed sync',
  severity: 'critical',
  causes: Object.keys(CAUSES),
  isOfReading: true,
  explains: 2,
  docs: {
    tells: 'a run failed; if that may pass by itself, at the second in a row',
    holds: {
      '': 'a run failed; one that may pass by itself is told at the second in a row. By its cause:',
      ...Object.fromEntries(Object.entries(CAUSES).map(([cause, { docs }]) => [cause, docs])),
    },
  },
  words: (cause = 'service') => CAUSES[cause as SyncCause],
};

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
