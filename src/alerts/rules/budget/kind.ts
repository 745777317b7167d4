import type { UsageKind } from '../kind.ts';

export const budgetKind: UsageKind = {
  version: 3,
  title: 'budget alert',
  severity: 'both',
  stake: { of: 'over_limit' },
  growth: { by: 'facts' },
  docs: {
    holds: {
      '': 'a step of a budget is reached, or by its own past the period is expected to use a twentieth more than all of it',
    },
    severity: 'warning; critical from 100%',
  },
};
