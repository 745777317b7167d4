import { isoTime } from '../../core/clock.ts';
import type { AlertState, NotificationEvent } from '../../core/text/alert-words.ts';
import { findRetirement } from '../../ledger/journal/retired-workspaces.ts';
import { and, desc, eq, prepared, sql } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { tenantNamesByKey } from '../../ledger/store/tenant-names.ts';
import { periodPhaseAt } from '../figures/period-phase.ts';
import type { NotifyContext } from '../pipeline/notify-context.ts';
import type { ChannelRoute } from '../pipeline/route.ts';
import { clear } from '../rules/judgement.ts';
import { type Observation, observation } from '../rules/observation.ts';
import { isFinal, RULE_TABLE } from '../rules/rules.ts';
import { type StoredAlert, shortHash } from '../state/alert-store.ts';
import { parseSnapshot } from '../state/rule-snapshot.ts';
import { acknowledgeLink } from './acknowledge-link.ts';
import { createEvidence } from './evidence.ts';
import type { ClosedBecause, Evidence, Notification, NotificationType } from './facts/facts.ts';
import { buildNotification, previousPeriodOf } from './notification.ts';

export type ComposedAlert = Omit<
  StoredAlert,
  | 'alertKey'
  | 'revision'
  | 'notifiedCount'
  | 'magnitude'
  | 'pendingSinceMs'
  | 'clearRunKey'
  | 'firstFiredAt'
  | 'lastChangedAt'
>;

/** Where a message goes: the channel, and the message's position among the channel's messages about the alert. */
export interface MessagePlace {
  route: Pick<ChannelRoute, 'channel' | 'timezone' | 'publicUrl' | 'linkKey'>;
  event: NotificationEvent;
  revision: number;
  notifiedCount: number;
}

const lastAppliedRun = prepared((db) =>
  db
    .select({ at: runs.finishedAt })
    .from(runs)
    .where(and(eq(runs.workspaceKey, sql.placeholder('workspaceKey')), eq(runs.status, 'applied')))
    .orderBy(desc(runs.runKey))
    .limit(1),
);

const TYPE_OF_EVENT: Partial<Record<NotificationEvent, NotificationType>> = {
  worse: 'alert.escalated',
  grown: 'alert.escalated',
  closed: 'alert.resolved',
};

/** Why an alert has ended, by the state of the alert. */
const ENDS: Partial<Record<AlertState, ClosedBecause>> = { resolved: 'gone', expired: 'left_window', pending: 'gone' };

/** Composes messages about alerts from the figures that the last run stored. */
export class MessageComposer {
  readonly #context: Omit<NotifyContext, 'routes'>;
  readonly #evidenceOf;
  readonly #nameOf;
  readonly #asOfMs: number;

  constructor(context: Omit<NotifyContext, 'routes'>) {
    const { connection, workspaceKey, runKey, nowMs, priceOf = null } = context;
    this.#context = context;
    this.#evidenceOf = createEvidence(connection, priceOf);
    this.#nameOf = tenantNamesByKey(connection);
    const last = runKey === null ? lastAppliedRun(connection).get({ workspaceKey })?.at : null;
    this.#asOfMs = last == null ? nowMs : Date.parse(last);
  }

  evidence(
    alert: ComposedAlert,
    { tenantId, planned }: { tenantId: string | null; planned: readonly bigint[] },
  ): Evidence {
    return this.#evidenceOf(this.#observe(alert), { tenantId, planned });
  }

  message(
    alert: ComposedAlert,
    { tenantId, evidence }: { tenantId: string | null; evidence: Evidence },
    { route, event, revision, notifiedCount }: MessagePlace,
  ): Notification {
    const { workspaceId, runId, at } = this.#context;
    const { alertId, rule, cause, level, severity, threshold, previous, current } = alert;
    return buildNotification({
      notification_id: messageId([alertId, revision, route.channel]),
      type: TYPE_OF_EVENT[event] ?? 'alert.firing',
      event,
      revision,
      episode: alert.episode,
      closed_because: event === 'closed' ? this.#endOf(alert) : null,
      alert_id: alertId,
      rule,
      cause,
      rule_version: RULE_TABLE[rule].kind.version,
      level,
      notified_count: notifiedCount,
      severity,
      state: event === 'closed' ? 'resolved' : 'firing',
      workspace_id: workspaceId,
      tenant_id: tenantId,
      tenant_name: this.#nameOf(alert.tenantKey),
      period: alert.periodKey === null ? null : periodOfKey(alert.periodKey),
      previous_period: previousPeriodOf({ ...alert, built: parseSnapshot(alert.basis).built }),
      previous,
      current,
      threshold,
      evidence,
      run_id: runId,
      began_at: alert.beganAt,
      read_at: alert.periodKey === null ? null : isoTime(this.#asOfMs),
      created_at: at,
      time_zone: route.timezone,
      public_url: route.publicUrl ?? null,
      acknowledge_link: event === 'closed' ? null : acknowledgeLink(route, alertId, alert.episode),
    });
  }

  /**
   * Returns the reason for a `closed` message. If the alert itself is still open, its month has settled, or the alert
   * is no longer routed to the channel.
   */
  #endOf({ state, rule, level }: ComposedAlert): ClosedBecause {
    if (state === 'expired' && this.#isEnded()) return 'workspace_ended';
    return ENDS[state] ?? (isFinal({ rule, level }) ? 'settled' : 'unrouted');
  }

  #isEnded(): boolean {
    const { connection, workspaceKey, ending = false } = this.#context;
    return ending || (workspaceKey !== null && findRetirement(connection, workspaceKey) !== null);
  }

  #observe(alert: ComposedAlert): Observation {
    const { rule, periodKey, tenantKey, previous, current, threshold, state } = alert;
    return observation({
      rule,
      periodKey,
      tenantKey,
      previous,
      current,
      threshold,
      judgement: clear(true),
      ...parseSnapshot(alert.basis),
      phase: periodKey === null ? null : periodPhaseAt(periodOfKey(periodKey), this.#asOfMs),
      detail: state === 'resolved' && periodKey === null ? null : alert.detail,
    });
  }
}

export function messageId(parts: readonly unknown[]): string {
  return `msg_${shortHash(JSON.stringify(parts), 32)}`;
}
