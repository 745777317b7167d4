import type { UsageKind } from '../kind.ts';

export const newSpendKind: UsageKind = {
  version: 6,
  title: 'new spend',
  severity: 'both',
  inhibits: 'new_id',
  stake: { of: 'growth', setting: 'min_credits' },
  docs: {
    holds: {
      happened: '`C >= min_credits`, and no record or no credits in the period before',
      likely: 'the same, and it is probably the [new id](#each-rule-with-an-example) of a tenant that has stopped',
    },
    severity: "warning; critical from what a jump of the mean tenant comes to, while it is nobody's new id",
  },
};
