import { sql } from 'drizzle-orm';
import { blob, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/**
 * The tables of the ledger. They are ours to change; the `finance_*` views (drizzle/views.sql) are the contract.
 * To change it: here and in the last migration of `drizzle`, or in a new one when that one is released, with a higher `when`
 * in the journal. Views: in `drizzle/views.sql`, which every migration makes anew, and in scripts/ledger-columns.mjs.
 * Workspaces, tenants and periods have integer keys inside, and `period_key` is `workspace_key * 131072 + months since
 * year 0`: the key of the period before is one less, and one period of one workspace lies together on disk.
 * Two things drizzle cannot say stand in the migration by hand: STRICT tables and `tenant_usage` WITHOUT ROWID.
 */

/** One value a name: `ledger_id`, and `kept_from_run`, see prune-runs.ts. */
export const ledgerMeta = sqliteTable('ledger_meta', {
  name: text('name').primaryKey(),
  value: text('value').notNull(),
});

export const workspaces = sqliteTable('workspaces', {
  workspaceKey: integer('workspace_key').primaryKey(),
  workspaceId: text('workspace_id').notNull().unique(),
  name: text('name').notNull(),
  /** The run that published first; null until then, and alerts of that run are seeded silently. */
  firstRunKey: integer('first_run_key'),
});

export const tenants = sqliteTable(
  'tenants',
  {
    tenantKey: integer('tenant_key').primaryKey(),
    workspaceKey: integer('workspace_key')
      .notNull()
      .references(() => workspaces.workspaceKey),
    tenantId: text('tenant_id').notNull(),
  },
  (table) => [uniqueIndex('tenants_by_id').on(table.workspaceKey, table.tenantId)],
);

export const periods = sqliteTable(
  'periods',
  {
    periodKey: integer('period_key').primaryKey(),
    workspaceKey: integer('workspace_key')
      .notNull()
      .references(() => workspaces.workspaceKey),
    period: text('period').notNull(),
    /** As the service says them; attributes, never part of a key. */
    periodStart: text('period_start').notNull(),
    periodEnd: text('period_end').notNull(),
    /** The latest applied run whose proven walk covered this period. */
    coveredRunKey: integer('covered_run_key'),
    /** The run that evaluated the `final` stage of all tenants, once the period was settled. */
    finalRunKey: integer('final_run_key'),
    /** The event that closed it; null while it is not closed. */
    closedSeq: integer('closed_seq'),
    /** The last run that showed again what an earlier walk had missed: the two do not agree on this period. */
    unsteadyRunKey: integer('unsteady_run_key'),
    /** SHA-256 of the figures that the run which covered it last has shown, see `FigureColumns`; null: not known. */
    figuresDigest: blob('figures_digest', { mode: 'buffer' }),
  },
  (table) => [uniqueIndex('periods_by_name').on(table.workspaceKey, table.period)],
);

/** The current state: one row a (workspace, period, tenant). Equals the sum of the key's entries, always. */
export const tenantUsage = sqliteTable(
  'tenant_usage',
  {
    periodKey: integer('period_key').notNull(),
    tenantKey: integer('tenant_key').notNull(),
    creditsUsed: integer('credits_used').notNull(),
    requestCount: integer('request_count').notNull(),
    withdrawn: integer('withdrawn').notNull(),
    firstRunKey: integer('first_run_key').notNull(),
    changedRunKey: integer('changed_run_key').notNull(),
  },
  (table) => [primaryKey({ columns: [table.periodKey, table.tenantKey] })],
);

/** What happened, append-only: triggers abort UPDATE and DELETE. `kind` is a number, see ENTRY_KINDS. */
export const usageEntries = sqliteTable(
  'usage_entries',
  {
    entryId: integer('entry_id').primaryKey(),
    runKey: integer('run_key').notNull(),
    periodKey: integer('period_key').notNull(),
    tenantKey: integer('tenant_key').notNull(),
    kind: integer('kind').notNull(),
    creditsDelta: integer('credits_delta').notNull(),
    requestsDelta: integer('requests_delta').notNull(),
    creditsAfter: integer('credits_after').notNull(),
    requestsAfter: integer('requests_after').notNull(),
  },
  (table) => [index('usage_entries_by_key').on(table.periodKey, table.tenantKey)],
);

/** One sync of one workspace. A row with `applied_seq` has been published and never changes again (trigger). */
export const runs = sqliteTable(
  'runs',
  {
    runKey: integer('run_key').primaryKey(),
    runId: text('run_id').notNull().unique(),
    workspaceKey: integer('workspace_key')
      .notNull()
      .references(() => workspaces.workspaceKey),
    kind: text('kind', { enum: ['scheduled', 'reconcile', 'manual'] }).notNull(),
    /** The cron slot that caused the run; null for a run by hand. */
    slot: text('slot'),
    status: text('status', {
      enum: ['running', 'applied', 'failed', 'unstable', 'suspicious_empty', 'superseded'],
    }).notNull(),
    fencingToken: integer('fencing_token').notNull(),
    fromPeriod: text('from_period'),
    toPeriod: text('to_period'),
    startedAt: text('started_at').notNull(),
    finishedAt: text('finished_at'),
    pages: integer('pages').notNull().default(0),
    records: integer('records').notNull().default(0),
    entries: integer('entries').notNull().default(0),
    /** The entries of a run lie together: ids from here on, `entries` of them. Null when it wrote none. */
    firstEntryId: integer('first_entry_id'),
    /** Position in the digest chain: 1, 2, 3 ... over all workspaces, in the order of publishing. */
    appliedSeq: integer('applied_seq').unique(),
    previousDigest: text('previous_digest'),
    digest: text('digest'),
    errorCode: text('error_code'),
    errorMessage: text('error_message'),
  },
  (table) => [index('runs_by_workspace').on(table.workspaceKey, table.runKey)],
);

/** The certificate that each walk leaves, whether it was accepted or not. */
export const walks = sqliteTable(
  'walks',
  {
    runKey: integer('run_key')
      .notNull()
      .references(() => runs.runKey),
    walkNumber: integer('walk_number').notNull(),
    startedAt: text('started_at').notNull(),
    finishedAt: text('finished_at').notNull(),
    pages: integer('pages').notNull(),
    records: integer('records').notNull(),
    distinctKeys: integer('distinct_keys').notNull(),
    totalRecords: integer('total_records').notNull(),
    totalPages: integer('total_pages').notNull(),
    keySetDigest: text('key_set_digest').notNull(),
    contentDigest: text('content_digest').notNull(),
    verdict: text('verdict', { enum: ['accepted', 'moved', 'unconfirmed'] }).notNull(),
    /** JSON array of the signs of movement that were seen. */
    signs: text('signs').notNull(),
  },
  (table) => [primaryKey({ columns: [table.runKey, table.walkNumber] })],
);

/** Closes and reopens of periods. They stand in the same digest chain as the runs; append-only by trigger. */
export const periodEvents = sqliteTable('period_events', {
  /** Position in the chain, shared with `runs.applied_seq`. */
  eventSeq: integer('event_seq').primaryKey(),
  workspaceKey: integer('workspace_key')
    .notNull()
    .references(() => workspaces.workspaceKey),
  periodKey: integer('period_key')
    .notNull()
    .references(() => periods.periodKey),
  action: text('action', { enum: ['close', 'reopen'] }).notNull(),
  at: text('at').notNull(),
  actor: text('actor').notNull(),
  note: text('note').notNull(),
  /** 1 when a close was refused and forced; `overridden` is the JSON array of the reasons. */
  forced: integer('forced').notNull(),
  overridden: text('overridden').notNull(),
  /** The figures that a close freezes and a reopen gives up. */
  tenants: integer('tenants').notNull(),
  creditsUsed: integer('credits_used').notNull(),
  requestCount: integer('request_count').notNull(),
  /** The last entry of the ledger at that moment: the figures are the sums up to it. */
  lastEntryId: integer('last_entry_id').notNull(),
  previousDigest: text('previous_digest').notNull(),
  digest: text('digest').notNull(),
});

/** The figures of closed periods as they were closed. Gone when the period is reopened. */
export const closedUsage = sqliteTable(
  'closed_usage',
  {
    periodKey: integer('period_key').notNull(),
    tenantKey: integer('tenant_key').notNull(),
    creditsUsed: integer('credits_used').notNull(),
    requestCount: integer('request_count').notNull(),
    withdrawn: integer('withdrawn').notNull(),
    firstRunKey: integer('first_run_key').notNull(),
    changedRunKey: integer('changed_run_key').notNull(),
  },
  (table) => [primaryKey({ columns: [table.periodKey, table.tenantKey] })],
);

/**
 * Corrections after a close, append-only: closed figure + adjustments = what the service says. A reopen reverses them.
 */
export const adjustments = sqliteTable(
  'adjustments',
  {
    adjustmentId: integer('adjustment_id').primaryKey(),
    correctsPeriodKey: integer('corrects_period_key')
      .notNull()
      .references(() => periods.periodKey),
    tenantKey: integer('tenant_key')
      .notNull()
      .references(() => tenants.tenantKey),
    bookedPeriodKey: integer('booked_period_key')
      .notNull()
      .references(() => periods.periodKey),
    creditsDelta: integer('credits_delta').notNull(),
    requestsDelta: integer('requests_delta').notNull(),
    recordedAt: text('recorded_at').notNull(),
    /** The run and entry that brought it, or the reopen that took it back. */
    runKey: integer('run_key').references(() => runs.runKey),
    entryId: integer('entry_id'),
    eventSeq: integer('event_seq'),
  },
  (table) => [
    index('adjustments_by_key').on(table.correctsPeriodKey, table.tenantKey),
    index('adjustments_by_booking').on(table.bookedPeriodKey),
    index('adjustments_by_run').on(table.runKey),
    index('adjustments_by_event').on(table.eventSeq),
  ],
);

/** Keys that the latest complete walk did not show, since the run that missed them first. */
export const absences = sqliteTable(
  'absences',
  {
    periodKey: integer('period_key').notNull(),
    tenantKey: integer('tenant_key').notNull(),
    runKey: integer('run_key')
      .notNull()
      .references(() => runs.runKey),
  },
  (table) => [primaryKey({ columns: [table.periodKey, table.tenantKey] })],
);

/** Who may publish for a workspace. Its token only increases; apply checks it. `holder_start`: see `processStart`. */
export const leases = sqliteTable('leases', {
  workspaceKey: integer('workspace_key')
    .primaryKey()
    .references(() => workspaces.workspaceKey),
  fencingToken: integer('fencing_token').notNull(),
  runKey: integer('run_key').notNull(),
  holderHost: text('holder_host').notNull(),
  holderPid: integer('holder_pid').notNull(),
  expiresAt: text('expires_at').notNull(),
  released: integer('released').notNull().default(0),
  holderStart: text('holder_start'),
});

export const alerts = sqliteTable(
  'alerts',
  {
    alertKey: integer('alert_key').primaryKey(),
    alertId: text('alert_id').notNull().unique(),
    rule: text('rule').notNull(),
    ruleVersion: integer('rule_version').notNull(),
    workspaceKey: integer('workspace_key')
      .notNull()
      .references(() => workspaces.workspaceKey),
    /** Null: about the workspace as a whole, or about ourselves. */
    tenantKey: integer('tenant_key').references(() => tenants.tenantKey),
    periodKey: integer('period_key').references(() => periods.periodKey),
    stage: text('stage', { enum: ['pace', 'certain', 'final'] }).notNull(),
    severity: text('severity', { enum: ['warning', 'critical'] }).notNull(),
    state: text('state', { enum: ['pending', 'firing', 'acknowledged', 'resolved', 'expired'] }).notNull(),
    /** The figures that the rule compares, as they stand now; null for alerts about ourselves. */
    previousCredits: integer('previous_credits'),
    currentCredits: integer('current_credits'),
    previousRequests: integer('previous_requests'),
    currentRequests: integer('current_requests'),
    threshold: integer('threshold'),
    /** Null while it is pending and has never fired. */
    firstFiredAt: text('first_fired_at'),
    lastChangedAt: text('last_changed_at').notNull(),
    /** How many transitions the alert has gone through; part of each notification's id. */
    revision: integer('revision').notNull(),
    /** How often it was notified again because it grew, since it fired. */
    level: integer('level').notNull().default(0),
    /** The size that it was last notified with; the next level is a multiple of it. */
    notifiedMeasure: integer('notified_measure'),
    pendingSince: text('pending_since'),
    /** The run that found the cause gone first; the second such run resolves the alert. */
    clearRunKey: integer('clear_run_key'),
    /** The incident that speaks for this alert. */
    incidentKey: integer('incident_key'),
    /** What an alert about ourselves says: the code and words of the error. */
    detail: text('detail'),
  },
  (table) => [
    uniqueIndex('alerts_by_subject').on(
      table.rule,
      table.workspaceKey,
      sql`coalesce(period_key, 0)`,
      sql`coalesce(tenant_key, 0)`,
    ),
    index('alerts_open').on(table.workspaceKey).where(sql`state IN ('pending', 'firing', 'acknowledged')`),
    index('alerts_by_incident').on(table.incidentKey).where(sql`incident_key IS NOT NULL`),
  ],
);

/** Every change of an alert: what, when, by which run or person. Append-only by trigger. */
export const alertTransitions = sqliteTable(
  'alert_transitions',
  {
    alertKey: integer('alert_key')
      .notNull()
      .references(() => alerts.alertKey),
    revision: integer('revision').notNull(),
    change: text('change', {
      enum: ['pending', 'fired', 'escalated', 'grown', 'acknowledged', 'resolved', 'expired'],
    }).notNull(),
    state: text('state').notNull(),
    stage: text('stage').notNull(),
    runKey: integer('run_key'),
    /** `run`, `timer`, or the person who acknowledged. */
    actor: text('actor').notNull(),
    at: text('at').notNull(),
    currentCredits: integer('current_credits'),
    /** 1 when nobody was told, for the reason in `silent_because`. */
    silent: integer('silent').notNull(),
    /** `seed`, `silence:ID`, `incident:ID`, `inhibited:ID`, `unrouted`, `unheard`, `quiet`; null when somebody was told. */
    silentBecause: text('silent_because'),
    /** What a person has said with it. */
    note: text('note'),
    /** JSON, as it was sent; null where nobody was told and in ledgers older than this column. */
    evidence: text('evidence'),
  },
  (table) => [primaryKey({ columns: [table.alertKey, table.revision] })],
);

/** What people have muted: silences, and plans that expect growth. Ended early by `ended_at`, never deleted. */
export const silences = sqliteTable('silences', {
  silenceKey: integer('silence_key').primaryKey(),
  silenceId: text('silence_id').notNull().unique(),
  kind: text('kind', { enum: ['silence', 'plan'] }).notNull(),
  /** Null: every workspace. */
  workspaceKey: integer('workspace_key').references(() => workspaces.workspaceKey),
  /** Patterns in which `*` stands for anything. */
  rule: text('rule').notNull(),
  tenant: text('tenant').notNull(),
  period: text('period').notNull(),
  /** A plan covers credits up to this figure; null is no limit. */
  upToCredits: integer('up_to_credits'),
  until: text('until').notNull(),
  reason: text('reason').notNull(),
  createdBy: text('created_by').notNull(),
  createdAt: text('created_at').notNull(),
  endedAt: text('ended_at'),
  endedBy: text('ended_by'),
});

/**
 * Notifications on their way: one row a channel, written in the transaction that changed the alert. `pending` goes at
 * once; `held` waits for the channel's digest; `digested` went with the notification that `digest_id` names.
 */
export const outbox = sqliteTable(
  'outbox',
  {
    notificationId: text('notification_id').primaryKey(),
    /** Null: a digest, or a notice of a channel that was disabled by one. */
    alertKey: integer('alert_key').references(() => alerts.alertKey),
    /** The change of the alert that it tells of; null for what tells of none. */
    revision: integer('revision'),
    channel: text('channel').notNull(),
    /** The exact bytes that are sent on every attempt. */
    payload: text('payload').notNull(),
    state: text('state', { enum: ['pending', 'held', 'digested', 'delivered', 'dead'] }).notNull(),
    attempts: integer('attempts').notNull().default(0),
    /** The attempts up to the last replay: backoff and the three days begin anew after it. */
    attemptsBefore: integer('attempts_before').notNull().default(0),
    createdAt: text('created_at').notNull(),
    nextAttemptAt: text('next_attempt_at').notNull(),
    /** While set and in the future, one sender has this row in hand. */
    claimedUntil: text('claimed_until'),
    deliveredAt: text('delivered_at'),
    lastError: text('last_error'),
    /** When the digest was due that it was written for; null for what goes at once. */
    digestAt: text('digest_at'),
    digestId: text('digest_id'),
  },
  (table) => [
    index('outbox_due').on(table.nextAttemptAt).where(sql`state = 'pending'`),
    index('outbox_held').on(table.nextAttemptAt).where(sql`state = 'held'`),
    index('outbox_dead').on(table.createdAt, table.notificationId).where(sql`state = 'dead'`),
    index('outbox_done').on(table.createdAt).where(sql`state IN ('delivered', 'digested', 'dead')`),
    index('outbox_by_alert').on(table.alertKey).where(sql`alert_key IS NOT NULL`),
  ],
);

/** Channels whose receiver wants nothing more. Nothing is sent to them until somebody replays a notification of theirs. */
export const channelStates = sqliteTable('channel_states', {
  name: text('name').primaryKey(),
  disabledAt: text('disabled_at').notNull(),
  reason: text('reason').notNull(),
});
