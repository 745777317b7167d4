import type { UsageKind } from '../kind.ts';

export const standstillKind: UsageKind = {
  version: 1,
  title: 'standstill',
  severity: 'critical',
  inhibits: 'metering_stopped',
  docs: {
    holds: {
      '': 'no usage in the whole workspace for a day longer than its longest pause in the four weeks before (at most three days), and usage on ten days of these weeks',
    },
  },
};
