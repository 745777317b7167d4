import {
  acknowledgeAlert,
  addSilence,
  endSilence,
  recordFeedback,
  type SilenceRequest,
} from '../../alerts/book/actions.ts';
import { evaluateJob, evaluateStale, type StaleCheck } from '../../alerts/evaluate/evaluate-self.ts';
import type { JobNews } from '../../alerts/rules/own/job-failed.ts';
import type { RunAlerts } from '../../alerts/track/alert-change.ts';
import type { ChannelRoute } from '../../alerts/track/routes.ts';
import { type Desk, onConnection } from './desk.ts';

export interface Telling {
  channels: readonly ChannelRoute[];
  nowMs: number;
}

/** What people say of alerts, and alerts about ourselves. */
export const alertCommands = {
  recordFeedback: onConnection(recordFeedback),
  acknowledgeAlert: onConnection(acknowledgeAlert),
  /** Returns the id of the silence. */
  addSilence: ({ connection, claimant }: Desk, request: SilenceRequest): string =>
    addSilence(connection, request, claimant.randomness),
  endSilence: onConnection(endSilence),

  /** Raises alerts for workspaces without a complete run for too long. */
  raiseStale: ({ connection }: Desk, { workspaces, ...telling }: Telling & { workspaces: StaleCheck[] }): RunAlerts =>
    evaluateStale(connection, workspaces, telling),

  /** Raises an alert about a job of the ledger; `detail` null ends it. */
  tellOfJob: ({ connection }: Desk, news: Telling & JobNews): RunAlerts => evaluateJob(connection, news, news),
};
