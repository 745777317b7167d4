import type { UsageKind } from '../kind.ts';

export const restatementKind: UsageKind = {
  version: 4,
  title: 'late change',
  severity: 'warning',
  compares: 'readings',
  stake: { of: 'change' },
  docs: {
    holds: { '': 'a closed period changed by at least `min_credits`; a settled one also by at least a hundredth' },
  },
};
