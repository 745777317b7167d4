/** A person's label for an alert. `expected`: true, but known before. */
export const FEEDBACK_LABELS = ['real', 'expected', 'false'] as const;
export type FeedbackLabel = (typeof FEEDBACK_LABELS)[number];

export interface FeedbackRequest {
  alertId: string;
  label: FeedbackLabel;
  note: string | null;
  by: string;
  nowMs: number;
}
