import type { CauseKind, SystemKind } from '../kind.ts';

const SYNC_CAUSES = {
  service: {
    docs: 'any other fault',
  },
  credentials: {
    docs: 'the service refused them',
  },
  clock: {
    docs: "it refused them, and this machine's clock differs from the service's by more than 30 seconds",
  },
  unproven: {
    docs: 'the service answered, but its listing could not be verified as complete',
  },
} satisfies Record<string, CauseKind>;
export type SyncCause = keyof typeof SYNC_CAUSES;

export const syncFailedKind: SystemKind = {
  version: 2,
  title: 'failed sync',
  severity: 'critical',
  scope: 'workspace',
  inhibits: { rank: 2 },
  docs: {
    holds: 'a run failed; a fault that may be temporary must occur in two runs in a row. By cause:',
  },
  causes: SYNC_CAUSES,
};
