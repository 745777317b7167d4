import type { LedgerRule } from '../../core/text/alert-words.ts';
import { clear, holds, type Judgement } from './rule.ts';
import type { SelfRule } from './table.ts';

/** Beyond this a signature can look expired or premature to the service. */
const NOTABLE_SKEW_MS = 30_000;

/** How a run ended that published nothing. */
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
export function judgeFailedRun({ code, retryable, clockSkewMs }: FailedRun): { rule: SelfRule; judgement: Judgement } {
  const refused = code === 'unauthorized' || code === 'forbidden';
  if (refused && Math.abs(clockSkewMs ?? 0) > NOTABLE_SKEW_MS) return { rule: 'clock_skew', judgement: failing(null) };
  if (refused) return { rule: 'auth_failed', judgement: failing(null) };
  return { rule: 'sync_failed', judgement: failing(retryable ? 0 : null) };
}

/** Something about the ledger as a whole is wrong, or with null no more: a late replica, files that are not written, times to come. */
export function judgeLedger(rule: LedgerRule, detail: string | null): Judgement {
  if (detail === null) return clear(true);
  const severity = rule === 'publish_stale' ? 'critical' : 'warning';
  return holds({ level: 'happened', severity, threshold: null, confirmAfterMs: null });
}

/** Rules could not be evaluated, or with null: all of them could. */
export function judgeAlerting(detail: string | null): Judgement {
  return detail === null ? clear(true) : failing(null);
}

/** No complete run for longer than a workspace may take. */
export function judgeStale(sinceMs: number, staleAfterMs: number): Judgement | null {
  return sinceMs > staleAfterMs ? failing(null) : null;
}

function failing(confirmAfterMs: number | null): Judgement {
  return holds({ level: 'happened', severity: 'critical', threshold: null, confirmAfterMs });
}
