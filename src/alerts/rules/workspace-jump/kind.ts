import type { UsageKind } from '../kind.ts';

export const workspaceJumpKind: UsageKind = {
  version: 9,
  title: 'jump',
  severity: 'both',
  levels: { fromForecast: true, settled: 'kept' },
  inhibits: 'shared_growth',
  stake: { of: 'growth', byTenant: true, setting: 'ratio' },
  docs: {
    holds: { '': "the same for the workspace's total, from five tenants on" },
    severity: 'as `jump`',
  },
};
