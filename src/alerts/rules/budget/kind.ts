import type { UsageKind } from '../kind.ts';

export const budgetKind: UsageKind = {
  version: 4,
  title: 'budget alert',
  severity: 'both',
  stake: { of: 'over_limit' },
  growth: { by: 'facts' },
  docs: {
    holds: {
      '': 'a step of a budget is reached, or the forecast from past usage exceeds the budget by a twentieth',
    },
    severity: 'warning; critical from 100%',
  },
};
