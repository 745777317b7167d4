import type { UsageKind } from '../kind.ts';

export const jumpKind: UsageKind = {
  version: 12,
  title: 'jump',
  severity: 'both',
  levels: { fromForecast: true, settled: 'kept' },
  inhibitedBy: ['shared_growth'],
  stake: { of: 'growth', hasShare: true, setting: 'ratio' },
  docs: {
    holds: {
      likely: 'the [forecast](#the-forecast) of an open period reaches `T` in every run for a day',
      happened: '`C >= T` already; the rest of the month can only add to it',
      settled: 'the period is over and settled, and `C >= T`',
    },
    severity: 'critical from `critical_share`; otherwise, and once settled, a warning',
  },
};
