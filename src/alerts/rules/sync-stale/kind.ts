import type { SystemKind } from '../kind.ts';

export const syncStaleKind: SystemKind = {
  version: 1,
  title: 'missing run',
  severity: 'critical',
  stopsReading: true,
  inhibits: { rank: 1 },
  docs: {
    holds:
      'no complete run for two of the longest pauses between ticks and a minute, and not because one still reads or waits, in two looks a minute apart',
  },
  causes: { '': {} },
};
