import type { UsageKind } from '../kind.ts';

export const standstillKind: UsageKind = {
  version: 1,
  title: 'standstill',
  severity: 'critical',
  inhibits: 'metering_stopped',
  docs: {
    holds: {
      '': 'no figure of the workspace has risen for a day longer than it ever paused in the four weeks before, at most three days; used on ten days of them',
    },
  },
};
