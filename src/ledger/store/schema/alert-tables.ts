import { ALERT_STATES, OPEN_ALERT_STATES_SQL, RULES, SEVERITIES, TOLD_EVENTS } from '../../../core/text/alert-words.ts';
import { deliveries } from './delivery-tables.ts';
import { index, int64, integer, primaryKey, rowKey, sql, sqliteTable, text, uniqueIndex } from './drizzle.ts';
import type { TableRecord } from './rows.ts';
import { periods, tenants, workspaces } from './workspace-tables.ts';

export const alerts = sqliteTable(
  'alerts',
  {
    alertKey: rowKey('alert_key').primaryKey(),
    alertId: text('alert_id').notNull().unique(),
    rule: text('rule', { enum: RULES }).notNull(),
    ruleVersion: integer('rule_version').notNull(),
    /** Null: about the ledger as a whole. */
    workspaceKey: integer('workspace_key').references(() => workspaces.workspaceKey),
    /** Null: about the workspace as a whole, or about ourselves. */
    tenantKey: integer('tenant_key').references(() => tenants.tenantKey),
    periodKey: integer('period_key').references(() => periods.periodKey),
    /** What is wrong with our own work; after a colon whose it is. Null for what usage does. */
    cause: text('cause'),
    level: text('level', { enum: ['likely', 'happened', 'settled'] }).notNull(),
    severity: text('severity', { enum: SEVERITIES }).notNull(),
    state: text('state', { enum: ALERT_STATES }).notNull(),
    /** The figures that the rule compares, as they stand now; null for alerts about ourselves. */
    previousCredits: int64('previous_credits'),
    currentCredits: int64('current_credits'),
    previousRequests: int64('previous_requests'),
    currentRequests: int64('current_requests'),
    threshold: int64('threshold'),
    /** Null while it is pending and has never fired. */
    firstFiredAt: text('first_fired_at'),
    lastChangedAt: text('last_changed_at').notNull(),
    /** How many transitions the alert has gone through. */
    revision: integer('revision').notNull(),
    /** How often somebody was told again because it grew, since it fired. */
    toldTimes: integer('told_times').notNull().default(0),
    /** The size that it has now; of a set of facts, those that held since it fired. */
    measure: int64('measure'),
    pendingSince: text('pending_since'),
    /** The run that found the cause gone first; the second such run resolves the alert. */
    clearRunKey: integer('clear_run_key'),
    /** What an alert about ourselves says: the code and words of the error. */
    detail: text('detail'),
    /** How often it has begun to hold, and when it did so last. */
    episode: integer('episode').notNull().default(0),
    beganAt: text('began_at'),
    /** JSON of what its rule saw last beside the figures. */
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
      enum: ['pending', 'fired', 'escalated', 'eased', 'grown', 'told', 'acknowledged', 'resolved', 'expired'],
    }).notNull(),
    state: text('state', { enum: ALERT_STATES }).notNull(),
    level: text('level', { enum: ['likely', 'happened', 'settled'] }).notNull(),
    runKey: integer('run_key'),
    /** `run`, `timer`, or the person who acknowledged. */
    actor: text('actor').notNull(),
    at: text('at').notNull(),
    currentCredits: int64('current_credits'),
    /** 1 when nobody was told, for the reason in `silent_because`. */
    silent: integer('silent').notNull(),
    /** `seed`, `silence:ID`, `inhibited:ID`, `unrouted`, `unheard`, `quiet`; null when somebody was told. */
    silentBecause: text('silent_because'),
    /** What a person has said with it. */
    note: text('note'),
    /** JSON, as it was sent; null where nobody was told. */
    evidence: text('evidence'),
  },
  (table) => [primaryKey({ columns: [table.alertKey, table.revision] })],
);

/**
 * What a channel was notified of about an alert last, and when it is looked at again. Who has no row, or whose row has no
 * event, counts as told what the row of `*` says.
 */
export const alertNotified = sqliteTable(
  'alert_notified',
  {
    alertKey: integer('alert_key')
      .notNull()
      .references(() => alerts.alertKey),
    channel: text('channel').notNull(),
    /** The last message that it has accepted, or may have; null: none yet. */
    event: text('event', { enum: TOLD_EVENTS }),
    episode: integer('episode'),
    level: text('level', { enum: ['likely', 'happened', 'settled'] }),
    /** How often it was told again because the alert grew, at this level. */
    toldTimes: integer('told_times'),
    measure: int64('measure'),
    /** 1 until the end was told. */
    open: integer('open').notNull().default(0),
    at: text('at'),
    /** 0 when it came with a daily summary. */
    atOnce: integer('at_once'),
    /** Of the last message that was made, whatever became of it. */
    revision: integer('revision').notNull().default(0),
    /** What it is owed: event, episode, level and how often it grew. Null: nothing. */
    owed: text('owed'),
    owedAt: text('owed_at'),
    /** It waits for others, to go in one message with them. */
    goesWith: text('goes_with', { enum: ['group', 'digest'] }),
    /** When the channel is looked at again for this alert, null: never by itself; and when that was worked out. */
    dueAt: text('due_at'),
    dueSetAt: text('due_set_at'),
    /** Attempts in a row that were refused. */
    failures: integer('failures').notNull().default(0),
    /** 1: nobody tries again before a replay, or before the channel has taken something. */
    givenUp: integer('given_up').notNull().default(0),
    /** The delivery that is under way: until its outcome is known, nothing else is sent. */
    deliveryKey: integer('delivery_key').references(() => deliveries.deliveryKey),
  },
  (table) => [
    primaryKey({ columns: [table.alertKey, table.channel] }),
    index('alert_notified_due').on(table.dueAt, table.dueSetAt).where(sql`due_at IS NOT NULL`),
    index('alert_notified_owed').on(table.channel, table.givenUp).where(sql`owed IS NOT NULL`),
    index('alert_notified_by_delivery').on(table.deliveryKey).where(sql`delivery_key IS NOT NULL`),
  ],
);

/** What a message says of each of its alerts. */
export const deliveryMembers = sqliteTable(
  'delivery_members',
  {
    deliveryKey: integer('delivery_key')
      .notNull()
      .references(() => deliveries.deliveryKey),
    alertKey: integer('alert_key')
      .notNull()
      .references(() => alerts.alertKey),
    /** Rises with each message of an alert to a channel. */
    revision: integer('revision').notNull(),
    event: text('event', { enum: TOLD_EVENTS }).notNull(),
    episode: integer('episode').notNull(),
    level: text('level', { enum: ['likely', 'happened', 'settled'] }).notNull(),
    toldTimes: integer('told_times').notNull(),
    measure: int64('measure'),
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
  /** Null: every workspace. */
  workspaceKey: integer('workspace_key').references(() => workspaces.workspaceKey),
  /** Patterns in which `*` stands for anything. */
  rule: text('rule').notNull(),
  tenant: text('tenant').notNull(),
  period: text('period').notNull(),
  /** A plan covers credits up to this figure; null is no limit. */
  upToCredits: int64('up_to_credits'),
  /** Null: at once. */
  beginsAt: text('begins_at'),
  until: text('until').notNull(),
  /** Between the two it counts on these days (`sat,sun`; `1-3,last`) and in these hours (`22:00-06:00`) only; null: always. */
  weekdays: text('weekdays'),
  hours: text('hours'),
  daysOfMonth: text('days_of_month'),
  /** Whose clocks count; null: UTC. */
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
    /** `expected`: true, but known before; a plan would have muted it. */
    label: text('label', { enum: ['real', 'expected', 'false'] }).notNull(),
    note: text('note'),
    actor: text('actor').notNull(),
    at: text('at').notNull(),
  },
  (table) => [index('alert_feedback_by_alert').on(table.alertKey)],
);

export const alertRecords: readonly TableRecord[] = [
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
        ...['last_changed_at', 'pending_since', 'clear_run_key', 'measure', 'basis'],
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
      label: `'what ' || ROW.channel || ' was told of alert '
        || coalesce((SELECT a.alert_id FROM alerts a WHERE a.alert_key = ROW.alert_key), 'number ' || ROW.alert_key)`,
      except: ['owed', 'owed_at', 'goes_with', 'due_at', 'due_set_at', 'failures'],
    },
  },
  {
    table: deliveryMembers,
    guard: {
      label: `'what notification ' || coalesce((SELECT d.notification_id FROM deliveries d
        WHERE d.delivery_key = ROW.delivery_key), 'number ' || ROW.delivery_key) || ' says of alert number ' || ROW.alert_key`,
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
