import type { UsageKind } from '../kind.ts';

export const dropKind: UsageKind = {
  version: 7,
  title: 'fall',
  severity: 'warning',
  levels: { settled: 'kept', settledGoesToDigest: true },
  inhibitedBy: ['new_id', 'metering_stopped'],
  stake: { of: 'fall', setting: 'ratio' },
  docs: {
    holds: {
      likely:
        'nothing used for longer than it ever paused in the four weeks before, at least three days; used on ten days of them',
      settled: 'the period has settled, and what was used before would be a jump against what is used now',
    },
  },
};
