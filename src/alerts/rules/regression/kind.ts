import type { UsageKind } from '../kind.ts';

export const regressionKind: UsageKind = {
  version: 5,
  title: 'loss of credits',
  severity: 'warning',
  compares: 'readings',
  levels: { settled: 'ends' },
  stake: { of: 'change' },
  docs: {
    holds: { '': 'the counter of an open period fell by a hundredth and by `min_credits`, or more' },
  },
};
