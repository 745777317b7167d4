import type { CauseKind, SystemKind } from '../kind.ts';

const SYNC_CAUSES = {
  service: {
    docs: 'all but the others',
  },
  credentials: {
    docs: 'the service refused them',
  },
  clock: {
    docs: "it refused them, and this machine's clock differs from the service's by more than 30 seconds",
  },
  unproven: {
    docs: 'answers came that do not prove that they are all of it',
  },
} satisfies Record<string, CauseKind>;
export type SyncCause = keyof typeof SYNC_CAUSES;

export const syncFailedKind: SystemKind = {
  version: 2,
  title: 'failed sync',
  severity: 'critical',
  stopsReading: true,
  inhibits: { rank: 2 },
  docs: {
    holds: 'a run failed; one that may pass by itself is notified at the second in a row. By its cause:',
  },
  causes: SYNC_CAUSES,
};
