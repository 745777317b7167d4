import type { Period } from '../../core/period.ts';
import { inserter, prepared } from '../../ledger/store/query.ts';
import { alertTransitions } from '../../ledger/store/schema/alert-tables.ts';
import { and, eq, sql } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';
import type { BookContext, RunAlerts, UnpublishedChange } from '../book/alert-change.ts';
import { shortHash } from '../book/alert-rows.ts';
import type { AlertChangeKind } from '../book/lifecycle.ts';
import { createEvidence, renderEvidence } from '../evaluate/evidence.ts';
import type { Observation } from '../evaluate/observation.ts';
import { insertTold } from '../outbox/insert-notification.ts';
import { rulesWith, ruleVersion } from '../rules/table.ts';
import { TREND_MONTHS } from '../rules/trend.ts';
import { buildNotification, type NotificationType, renderPayload } from './notification.ts';
import { createRecipients } from './recipients.ts';
import { createTenantNames } from './tenant-name.ts';

const NOTIFICATION_TYPES: Partial<Record<AlertChangeKind, NotificationType>> = {
  fired: 'alert.firing',
  escalated: 'alert.escalated',
  grown: 'alert.escalated',
  resolved: 'alert.resolved',
};

const transitionInserter = inserter(alertTransitions);
const supersedeHeld = prepared((db) =>
  db
    .update(outbox)
    .set({ state: sql`'digested'`, digestId: sql`${sql.placeholder('notificationId')}` })
    .where(
      and(
        eq(outbox.alertKey, sql.placeholder('alertKey')),
        eq(outbox.channel, sql.placeholder('channel')),
        eq(outbox.state, 'held'),
      ),
    ),
);

/**
 * Returns what writes down a change: its transition and, unless nobody is to hear of it, an outbox row a channel. What
 * it has done is added to the outcome. `silence` says why a change is kept quiet whatever the routes are.
 */
export function createPublisher(
  context: BookContext,
  silence: (draft: UnpublishedChange) => string | null,
): (draft: UnpublishedChange, outcome: RunAlerts) => void {
  const { connection, runKey, actor, at, priceOf = null } = context;
  const evidenceOf = createEvidence(connection, priceOf);
  const nameOf = createTenantNames(connection);
  const recipientsOf = createRecipients(context);
  const insertTransition = transitionInserter(connection);
  return (draft, outcome) => {
    const { alert, change, seen, names } = draft;
    const { alertKey, revision, state, stage } = alert;
    const type = NOTIFICATION_TYPES[change];
    const muted = silence(draft);
    const recipients = muted === null ? recipientsOf(draft) : [];
    const silentBecause = recipients.length > 0 ? null : (muted ?? (change === 'resolved' ? 'unheard' : 'unrouted'));
    const told = silentBecause === null && type !== undefined;
    const { tenantId } = names;
    const evidence = told ? evidenceOf(seen, { tenantId, planned: draft.planned }) : null;
    insertTransition({
      ...{ alertKey, revision, change, state, stage, runKey, actor, at },
      currentCredits: alert.current?.credits ?? null,
      ...{ silent: told ? 0 : 1, silentBecause, note: null },
      evidence: evidence === null ? null : renderEvidence(evidence),
    });
    outcome.changes.push({
      ...{ alertId: alert.alertId, change, rule: alert.rule, stage: alert.stage, severity: alert.severity },
      ...{ tenantId: names.tenantId, period: names.period },
      ...{ previous: alert.previous, current: alert.current, threshold: alert.threshold },
      ...{ silent: !told, silentBecause },
    });
    if (evidence === null || type === undefined) return;
    const tenantName = nameOf(alert.tenantKey);
    for (const { channel, digestAt } of recipients) {
      const notificationId = `msg_${shortHash(JSON.stringify([alert.alertId, alert.revision, channel]), 32)}`;
      const notification = buildNotification({
        ...{ notificationId, type, alertId: alert.alertId, rule: alert.rule, ruleVersion: ruleVersion(alert.rule) },
        ...{ stage: alert.stage, level: alert.level, severity: alert.severity, state: alert.state },
        ...{
          ...names,
          tenantName,
          previousPeriod: previousPeriodOf(seen),
          previous: seen.previous,
          current: seen.current,
        },
        ...{ threshold: alert.threshold, evidence, runId: context.runId, createdAt: at },
      });
      insertTold(connection, {
        ...{ notificationId, alertKey, revision, channel, payload: renderPayload(notification) },
        state: digestAt === null ? 'pending' : 'held',
        ...{ createdAt: at, nextAttemptAt: digestAt ?? at, digestAt },
      });
      if (digestAt !== null) continue;
      // A digest that told of it later would tell old news.
      supersedeHeld(connection).run({ notificationId, alertKey, channel });
      outcome.notificationIds.push(notificationId);
    }
  };
}

/** These compare two readings of one period. */
const SAME_PERIOD = rulesWith(({ ofReadings }) => ofReadings === true);

/** Of a threshold that was built from several periods the latest: which they are stands with the threshold. */
export function previousPeriodOf({ rule, periodKey, built }: Observation): Period | null {
  if (periodKey === null || rule === 'incident') return null;
  if (SAME_PERIOD.includes(rule)) return periodOfKey(periodKey);
  if (built?.periods[0] !== undefined) return built.periods[0];
  return periodOfKey(periodKey - (rule === 'trend' ? TREND_MONTHS : 1));
}
