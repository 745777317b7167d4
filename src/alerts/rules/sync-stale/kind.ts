import type { SystemKind } from '../kind.ts';

export const syncStaleKind: SystemKind = {
  version: 1,
  title: 'missing run',
  severity: 'critical',
  scope: 'workspace',
  inhibits: { rank: 1 },
  docs: {
    holds:
      'no complete run for twice the longest pause of the schedule and a minute, while no run reads or waits; confirmed by a second check a minute later',
  },
  causes: { '': {} },
};
