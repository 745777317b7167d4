import type { UsageKind } from '../kind.ts';

export const marginKind: UsageKind = {
  version: 1,
  title: 'margin alert',
  severity: 'warning',
  docs: {
    holds: {
      likely: 'by both ends of its forecast a tenant is to pay less for the month than it costs by `costs:`',
      happened: 'the same, and so far it does; or the month is over and it did',
    },
  },
};
