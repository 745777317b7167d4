/** The labels that a person can give an alert. `expected`: the alert is right, but the person knew its reason before. */
export const FEEDBACK_LABELS = ['real', 'expected', 'false'] as const;
export type FeedbackLabel = (typeof FEEDBACK_LABELS)[number];

/** A request to label an alert. */
export interface FeedbackRequest {
  alertId: string;
  label: FeedbackLabel;
  note: string | null;
  by: string;
  nowMs: number;
}
