import { evaluateJob, evaluateStale, type StaleCheck } from '../../alerts/evaluate/evaluate-self.ts';
import {
  acknowledgeAlert,
  addSilence,
  endSilence,
  recordFeedback,
  type SilenceRequest,
} from '../../alerts/notify/actions.ts';
import type { JobNews } from '../../alerts/rules/own/job-failed.ts';
import type { RunAlerts } from '../../alerts/track/alert-change.ts';
import { type Desk, onConnection } from './desk.ts';

/** What people say of alerts, and alerts about ourselves. */
export const alertCommands = {
  recordFeedback: onConnection(recordFeedback),
  acknowledgeAlert: onConnection(acknowledgeAlert),
  /** Returns the id of the silence. */
  addSilence: ({ connection, claimant }: Desk, request: SilenceRequest): string =>
    addSilence(connection, request, claimant.randomness),
  endSilence: onConnection(endSilence),

  /** Raises alerts for workspaces without a complete run for too long. */
  raiseStale: ({ connection }: Desk, { workspaces, nowMs }: { workspaces: StaleCheck[]; nowMs: number }): RunAlerts =>
    evaluateStale(connection, workspaces, nowMs),

  /** Raises an alert about a job of the ledger; `detail` null ends it. */
  tellOfJob: ({ connection }: Desk, { nowMs, ...news }: JobNews & { nowMs: number }): RunAlerts =>
    evaluateJob(connection, news, nowMs),
};
