import { NO_USAGE } from '../../figures/usage-figures.ts';
import { entriesOfKind } from '../context/entries-of-kind.ts';
import { clear, holds, type Judgement } from '../judgement.ts';
import type { Detection } from '../rule.ts';

export const withdrawnDetection: Detection = {
  inRun: ({ merged }) => entriesOfKind(merged, 'withdrawn'),
  ofTenant(_, tenant, known, before = known?.previous ?? NO_USAGE) {
    return { judgement: judgeWithdrawn(tenant.withdrawn, before.credits), previous: before };
  },
};

/** Judges a record with credits that the service no longer lists. The alert ends when the record is listed again. */
export function judgeWithdrawn(withdrawn: boolean, creditsBefore: bigint): Judgement {
  if (!withdrawn || creditsBefore <= 0n) return clear(true);
  return holds({ level: 'happened', severity: 'warning', threshold: null });
}
