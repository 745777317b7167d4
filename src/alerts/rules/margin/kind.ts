import type { UsageKind } from '../kind.ts';

export const marginKind: UsageKind = {
  version: 2,
  title: 'margin alert',
  severity: 'warning',
  docs: {
    holds: {
      likely: 'at both ends of its forecast, a tenant pays less for the month than it costs by `costs:`',
      happened: 'the same, and it also pays less to date; or the month is over and it paid less',
    },
  },
};
