import type { Period } from '../../core/period.ts';
import { RULES } from '../../core/text/alert-words.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { query } from '../../ledger/store/query.ts';
import { alertFeedback, alerts } from '../../ledger/store/schema/alert-tables.ts';
import { and, eq, gte, lte, sql } from '../../ledger/store/schema/drizzle.ts';
import { periods, tenants } from '../../ledger/store/schema/workspace-tables.ts';
import type { RuleName } from '../measures/judgement.ts';
import { FEEDBACK_LABELS, type FeedbackLabel } from '../track/feedback.ts';
import type { Sides } from './compare.ts';
import type { AlertStory } from './stories.ts';

/** What somebody said of an alert; the last word counts. */
export interface LabelledAlert {
  rule: RuleName;
  /** Null for the workspace as a whole. */
  tenantId: string | null;
  period: Period;
  label: FeedbackLabel;
}

type LabelCounts = Record<FeedbackLabel, number>;

/** The labelled alerts of one rule, and how many of them each side tells of. */
export interface LabelledRule {
  rule: RuleName;
  labelled: LabelCounts;
  told: Sides<LabelCounts>;
  /** Labelled real and told by today's settings, but not by the proposed. */
  lost: number;
}

/** The labels of a workspace's alerts about the periods from `from` to `to`, both included. */
export function readLabels(
  connection: LedgerConnection,
  workspaceKey: number,
  { from, to }: { from: Period; to: Period },
): LabelledAlert[] {
  const { rule } = alerts;
  const { period } = periods;
  const { label, feedbackKey } = alertFeedback;
  const lastWord = sql`(SELECT max(l.feedback_key) FROM alert_feedback l WHERE l.alert_key = ${alerts.alertKey})`;
  return query(connection)
    .select({ rule, tenantId: tenants.tenantId, period, label })
    .from(alerts)
    .innerJoin(periods, eq(periods.periodKey, alerts.periodKey))
    .leftJoin(tenants, eq(tenants.tenantKey, alerts.tenantKey))
    .innerJoin(alertFeedback, eq(feedbackKey, lastWord))
    .where(and(eq(alerts.workspaceKey, workspaceKey), gte(period, from), lte(period, to)))
    .all();
}

/** Counts by rule which labelled alerts each side tells of. Rules without a label are left out. */
export function countLabelled(labels: readonly LabelledAlert[], stories: Sides<readonly AlertStory[]>): LabelledRule[] {
  const told = { today: subjectsOf(stories.today), proposed: subjectsOf(stories.proposed) };
  return RULES.flatMap((rule) => {
    const own = labels.filter((each) => each.rule === rule);
    if (own.length === 0) return [];
    const by = (side: ReadonlySet<string>) => countLabels(own.filter((each) => side.has(subjectOf(each))));
    const lost = own.filter((each) => {
      const key = subjectOf(each);
      return each.label === 'real' && told.today.has(key) && !told.proposed.has(key);
    }).length;
    return [{ rule, labelled: countLabels(own), told: { today: by(told.today), proposed: by(told.proposed) }, lost }];
  });
}

/** The part of what was told that was real, in percent of what is labelled real or false; null when nothing is. */
export function precisionPercent({ real, false: wrong }: LabelCounts): number | null {
  return real + wrong === 0 ? null : Math.round((real * 100) / (real + wrong));
}

/** The part of what is labelled real that is told, in percent; null when nothing is. */
export function recallPercent(labelled: LabelCounts, told: LabelCounts): number | null {
  return labelled.real === 0 ? null : Math.round((told.real * 100) / labelled.real);
}

function countLabels(alerts: readonly LabelledAlert[]): LabelCounts {
  const counts: LabelCounts = { real: 0, expected: 0, false: 0 };
  for (const label of FEEDBACK_LABELS) counts[label] = alerts.filter((each) => each.label === label).length;
  return counts;
}

function subjectsOf(stories: readonly AlertStory[]): Set<string> {
  return new Set(stories.map(subjectOf));
}

function subjectOf({ rule, tenantId, period }: Pick<AlertStory, 'rule' | 'tenantId' | 'period'>): string {
  return JSON.stringify([rule, tenantId, period]);
}
