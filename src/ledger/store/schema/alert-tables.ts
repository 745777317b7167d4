import {
  ALERT_STATES,
  NOTIFICATION_EVENTS,
  OPEN_ALERT_STATES_SQL,
  RULES,
  SEVERITIES,
} from '../../../core/text/alert-words.ts';
import { deliveries } from './delivery-tables.ts';
import { index, int64, integer, primaryKey, rowKey, sql, sqliteTable, text, uniqueIndex } from './drizzle.ts';
import type { TableProperties } from './rows.ts';
import { periods, tenants, workspaces } from './workspace-tables.ts';

export const alerts = sqliteTable(
  'alerts',
  {
    alertKey: rowKey('alert_key').primaryKey(),
    alertId: text('alert_id').notNull().unique(),
    rule: text('rule', { enum: RULES }).notNull(),
    ruleVersion: integer('rule_version').notNull(),
    /** The workspace; null for an alert about the whole ledger. */
    workspaceKey: integer('workspace_key').references(() => workspaces.workspaceKey),
    /** The tenant; null for an alert about the whole workspace, and for a system alert. */
    tenantKey: integer('tenant_key').references(() => tenants.tenantKey),
    periodKey: integer('period_key').references(() => periods.periodKey),
    /** The failing part of a system alert, followed by a colon and its subject. Null for usage alerts. */
    cause: text('cause'),
    level: text('level', { enum: ['likely', 'happened', 'settled'] }).notNull(),
    severity: text('severity', { enum: SEVERITIES }).notNull(),
    state: text('state', { enum: ALERT_STATES }).notNull(),
    /** The figures that the rule compared last, of the previous and the current period; null for system alerts. */
    previousCredits: int64('previous_credits'),
    currentCredits: int64('current_credits'),
    previousRequests: int64('previous_requests'),
    currentRequests: int64('current_requests'),
    threshold: int64('threshold'),
    /** First time the alert fired; null if it has never fired. */
    firstFiredAt: text('first_fired_at'),
    lastChangedAt: text('last_changed_at').notNull(),
    /** Number of transitions of the alert. */
    revision: integer('revision').notNull(),
    /** Number of notifications, since the alert fired, that were sent because its magnitude grew. */
    notifiedCount: integer('notified_count').notNull().default(0),
    /**
     * How large the condition is now. For a rule about a set of facts, a bit mask of the facts that were true at any
     * time since the alert fired.
     */
    magnitude: int64('magnitude'),
    pendingSince: text('pending_since'),
    /** The first run in which the condition no longer held; the second such run resolves the alert. */
    clearRunKey: integer('clear_run_key'),
    /** Code and message of the error; system alerts only. */
    detail: text('detail'),
    /** Number of times the condition has begun to hold; `began_at` is the last such time. */
    episode: integer('episode').notNull().default(0),
    beganAt: text('began_at'),
    /** The other inputs of the rule at the last evaluation, without the figures, as JSON. */
    basis: text('basis'),
  },
  (table) => [
    uniqueIndex('alerts_by_subject').on(
      table.rule,
      sql`coalesce(workspace_key, 0)`,
      sql`coalesce(period_key, 0)`,
      sql`coalesce(tenant_key, 0)`,
      sql`coalesce(cause, '')`,
    ),
    index('alerts_by_workspace').on(table.workspaceKey),
    index('alerts_open')
      .on(table.workspaceKey)
      .where(sql.raw(`state IN ${OPEN_ALERT_STATES_SQL}`)),
  ],
);

export const alertTransitions = sqliteTable(
  'alert_transitions',
  {
    alertKey: integer('alert_key')
      .notNull()
      .references(() => alerts.alertKey),
    revision: integer('revision').notNull(),
    change: text('change', {
      enum: ['pending', 'fired', 'escalated', 'eased', 'grown', 'notified', 'acknowledged', 'resolved', 'expired'],
    }).notNull(),
    state: text('state', { enum: ALERT_STATES }).notNull(),
    level: text('level', { enum: ['likely', 'happened', 'settled'] }).notNull(),
    runKey: integer('run_key'),
    /** Who caused the transition: `run`, `timer`, or the person who acknowledged the alert. */
    actor: text('actor').notNull(),
    at: text('at').notNull(),
    currentCredits: int64('current_credits'),
    /** 1 when nobody was notified, for the reason in `silent_because`. */
    silent: integer('silent').notNull(),
    /** `seed`, `silence:ID`, `inhibited:ID`, `unrouted`, `immaterial`, `not_notified`, `quiet`; null when somebody was notified. */
    silentBecause: text('silent_because'),
    /** The note of the person who acknowledged the alert. */
    note: text('note'),
    /** The evidence in the notification, as JSON; null when nobody was notified. */
    evidence: text('evidence'),
  },
  (table) => [primaryKey({ columns: [table.alertKey, table.revision] })],
);

/**
 * The last notification about each alert to each channel, and the time of the next check. The row with channel `*` is
 * used for a channel that has no row, or whose row has no event.
 */
export const alertNotified = sqliteTable(
  'alert_notified',
  {
    alertKey: integer('alert_key')
      .notNull()
      .references(() => alerts.alertKey),
    channel: text('channel').notNull(),
    /** The event of the last message that the channel accepted, or may have accepted; null: none yet. */
    event: text('event', { enum: NOTIFICATION_EVENTS }),
    episode: integer('episode'),
    level: text('level', { enum: ['likely', 'happened', 'settled'] }),
    severity: text('severity', { enum: SEVERITIES }),
    /** Number of notifications at this level that were sent because the alert's magnitude grew. */
    notifiedCount: integer('notified_count'),
    magnitude: int64('magnitude'),
    /** 1 until the channel was notified that the alert has ended; then 0. */
    open: integer('open').notNull().default(0),
    at: text('at'),
    /** 0 when the message was part of a daily summary. */
    atOnce: integer('at_once'),
    /** Revision of the last message created for the channel, delivered or not. */
    revision: integer('revision').notNull().default(0),
    /** The pending notification's event, episode, level and growth count. Null: no notification is pending. */
    pending: text('pending'),
    pendingAt: text('pending_at'),
    /**
     * How the pending notification is combined with others into one message: a group, or the daily digest. Null: it is
     * sent alone.
     */
    batch: text('batch', { enum: ['group', 'digest'] }),
    /**
     * When to check again whether the channel must be notified about this alert, and when that time was computed. Null:
     * no check is scheduled.
     */
    dueAt: text('due_at'),
    scheduledAt: text('scheduled_at'),
    /** Number of consecutive attempts that were rejected. */
    failures: integer('failures').notNull().default(0),
    /** 1: no more attempts until a replay, or until the channel has accepted another message. */
    givenUp: integer('given_up').notNull().default(0),
    /**
     * The delivery in progress. Nothing else is sent to the channel about the alert until the outcome of this delivery
     * is known.
     */
    deliveryKey: integer('delivery_key').references(() => deliveries.deliveryKey),
  },
  (table) => [
    primaryKey({ columns: [table.alertKey, table.channel] }),
    index('alert_notified_due').on(table.dueAt, table.scheduledAt).where(sql`due_at IS NOT NULL`),
    index('alert_notified_pending').on(table.channel, table.givenUp).where(sql`pending IS NOT NULL`),
    index('alert_notified_by_delivery').on(table.deliveryKey).where(sql`delivery_key IS NOT NULL`),
  ],
);

/** The alerts of each message, with the values that the message reported. */
export const deliveryMembers = sqliteTable(
  'delivery_members',
  {
    deliveryKey: integer('delivery_key')
      .notNull()
      .references(() => deliveries.deliveryKey),
    alertKey: integer('alert_key')
      .notNull()
      .references(() => alerts.alertKey),
    /** The sequence number of this message among all messages about the alert to the channel: 1, 2, 3 ... */
    revision: integer('revision').notNull(),
    event: text('event', { enum: NOTIFICATION_EVENTS }).notNull(),
    episode: integer('episode').notNull(),
    level: text('level', { enum: ['likely', 'happened', 'settled'] }).notNull(),
    severity: text('severity', { enum: SEVERITIES }).notNull(),
    notifiedCount: integer('notified_count').notNull(),
    magnitude: int64('magnitude'),
  },
  (table) => [
    primaryKey({ columns: [table.deliveryKey, table.alertKey] }),
    index('delivery_members_by_alert').on(table.alertKey),
  ],
);

export const silences = sqliteTable('silences', {
  silenceKey: rowKey('silence_key').primaryKey(),
  silenceId: text('silence_id').notNull().unique(),
  kind: text('kind', { enum: ['silence', 'plan'] }).notNull(),
  /** The workspace that the silence applies to; null: every workspace. */
  workspaceKey: integer('workspace_key').references(() => workspaces.workspaceKey),
  /** Patterns in which `*` matches any text. */
  rule: text('rule').notNull(),
  tenant: text('tenant').notNull(),
  period: text('period').notNull(),
  /** A plan mutes alerts while credits stay at or below this figure; null: no limit. */
  upToCredits: int64('up_to_credits'),
  /** When the silence starts; null: immediately. */
  beginsAt: text('begins_at'),
  until: text('until').notNull(),
  /**
   * Between start and end, the silence is active only on these days (`sat,sun`; `1-3,last`) and in these hours
   * (`22:00-06:00`); null: always.
   */
  weekdays: text('weekdays'),
  hours: text('hours'),
  daysOfMonth: text('days_of_month'),
  /** Time zone of days and hours; null: UTC. */
  timeZone: text('time_zone'),
  reason: text('reason').notNull(),
  createdBy: text('created_by').notNull(),
  createdAt: text('created_at').notNull(),
  endedAt: text('ended_at'),
  endedBy: text('ended_by'),
});

export const alertFeedback = sqliteTable(
  'alert_feedback',
  {
    feedbackKey: rowKey('feedback_key').primaryKey(),
    alertKey: integer('alert_key')
      .notNull()
      .references(() => alerts.alertKey),
    /**
     * A person's judgement of the alert. `expected`: the change happened but was planned, and a plan would have muted
     * the alert.
     */
    label: text('label', { enum: ['real', 'expected', 'false'] }).notNull(),
    note: text('note'),
    actor: text('actor').notNull(),
    at: text('at').notNull(),
  },
  (table) => [index('alert_feedback_by_alert').on(table.alertKey)],
);

export const alertTableProperties: readonly TableProperties[] = [
  {
    table: alerts,
    guard: {
      label: "'alert ' || ROW.alert_id",
      except: [
        ...[
          'rule_version',
          'previous_credits',
          'current_credits',
          'previous_requests',
          'current_requests',
          'threshold',
        ],
        ...['last_changed_at', 'pending_since', 'clear_run_key', 'magnitude', 'basis'],
      ],
    },
  },
  {
    table: alertTransitions,
    guard: {
      label: `'revision ' || ROW.revision || ' of alert '
        || coalesce((SELECT a.alert_id FROM alerts a WHERE a.alert_key = ROW.alert_key), 'number ' || ROW.alert_key)`,
    },
  },
  {
    table: alertNotified,
    guard: {
      label: `'last notification to ' || ROW.channel || ' of alert '
        || coalesce((SELECT a.alert_id FROM alerts a WHERE a.alert_key = ROW.alert_key), 'number ' || ROW.alert_key)`,
      except: ['pending', 'pending_at', 'batch', 'due_at', 'scheduled_at', 'failures'],
    },
  },
  {
    table: deliveryMembers,
    guard: {
      label: `'alert number ' || ROW.alert_key || ' in notification ' || coalesce((SELECT d.notification_id FROM deliveries d
        WHERE d.delivery_key = ROW.delivery_key), 'number ' || ROW.delivery_key)`,
    },
  },
  {
    table: alertFeedback,
    guard: {
      label: "'feedback ' || ROW.feedback_key",
    },
  },
  {
    table: silences,
    guard: { label: "ROW.kind || ' ' || ROW.silence_id" },
  },
];
