import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';

/** What an alert turned out to be. `expected`: true, but known before. */
export const FEEDBACK_LABELS = ['real', 'expected', 'false'] as const;
export type FeedbackLabel = (typeof FEEDBACK_LABELS)[number];

export interface FeedbackRequest {
  alertId: string;
  label: FeedbackLabel;
  note: string | null;
  by: string;
  nowMs: number;
}

/** Records what an alert turned out to be; the last word counts. Throws `unknown_alert`. */
export function recordFeedback(connection: Database.Database, request: FeedbackRequest): void {
  const { alertId, label, note, by, nowMs } = request;
  const { changes } = connection
    .prepare(
      `INSERT INTO alert_feedback (alert_key, label, note, actor, at)
       SELECT alert_key, ?, ?, ?, ? FROM alerts WHERE alert_id = ?`,
    )
    .run(label, note, by, isoTime(nowMs), alertId);
  if (changes === 1) return;
  throw new AppError('unknown_alert', `there is no alert ${JSON.stringify(alertId)}`, {
    hint: '`usage-ledger alerts list --all` shows every alert with its id',
  });
}
