import type { UsageKind } from '../kind.ts';

export const dropKind: UsageKind = {
  version: 8,
  title: 'fall',
  severity: 'warning',
  levels: { settled: 'kept', settledGoesToDigest: true },
  inhibitedBy: ['new_id', 'metering_stopped'],
  stake: { of: 'fall', setting: 'ratio' },
  docs: {
    holds: {
      likely:
        'no usage for longer than any pause in the four weeks before (at least three days), and usage on ten days of these weeks',
      settled: 'the period has settled, and the earlier usage would be a jump compared with the present usage',
    },
  },
};
