import type { UsageKind } from '../kind.ts';

export const newSpendKind: UsageKind = {
  version: 9,
  title: 'new spend',
  severity: 'both',
  inhibits: 'new_id',
  stake: { of: 'growth', setting: 'min_credits' },
  docs: {
    holds: {
      happened: '`C >= min_credits`, and no credits in the twelve months before',
      likely: 'the same, and it is probably the [new id](#each-rule-with-an-example) of a tenant that has stopped',
    },
    severity: 'critical from `critical_share`, unless it is probably a successor; otherwise a warning',
  },
};
