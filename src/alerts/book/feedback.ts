import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { query } from '../../ledger/store/query.ts';
import { alertFeedback } from '../../ledger/store/schema/alert-tables.ts';
import { requireAlert } from './alert-rows.ts';

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
  const { alertKey } = requireAlert(connection, alertId);
  query(connection)
    .insert(alertFeedback)
    .values({ alertKey, label, note, actor: by, at: isoTime(nowMs) })
    .run();
}
