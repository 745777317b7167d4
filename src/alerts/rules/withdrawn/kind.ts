import type { UsageKind } from '../kind.ts';

export const withdrawnKind: UsageKind = {
  version: 2,
  title: 'withdrawal',
  severity: 'warning',
  compares: 'readings',
  stake: { of: 'change' },
  docs: {
    holds: { '': 'the service has stopped listing a record that had credits' },
  },
};
