import { blob, index, int64, integer, primaryKey, rowKey, sql, sqliteTable, text } from './drizzle.ts';
import type { TableProperties } from './rows.ts';
import { workspaces } from './workspace-tables.ts';

export const runs = sqliteTable(
  'runs',
  {
    runKey: rowKey('run_key').primaryKey(),
    runId: text('run_id').notNull().unique(),
    workspaceKey: integer('workspace_key')
      .notNull()
      .references(() => workspaces.workspaceKey),
    kind: text('kind', { enum: ['scheduled', 'reconcile', 'manual'] }).notNull(),
    /** The cron slot that caused the run; null for a manual run. */
    slot: text('slot'),
    status: text('status', {
      enum: ['running', 'applied', 'failed', 'unstable', 'suspicious_empty', 'suspicious_shrink', 'superseded'],
    }).notNull(),
    fencingToken: integer('fencing_token').notNull(),
    fromPeriod: text('from_period'),
    toPeriod: text('to_period'),
    startedAt: text('started_at').notNull(),
    finishedAt: text('finished_at'),
    pages: integer('pages').notNull().default(0),
    records: integer('records').notNull().default(0),
    entries: integer('entries').notNull().default(0),
    /**
     * The id of the run's first entry; null when the run wrote no entries. The ids of a run's entries are consecutive,
     * and `entries` is their number.
     */
    firstEntryId: integer('first_entry_id'),
    /** Position in the digest chain, which all workspaces share: 1, 2, 3 ... in the order in which runs are applied. */
    appliedSeq: integer('applied_seq').unique(),
    previousDigest: text('previous_digest'),
    digest: text('digest'),
    errorCode: text('error_code'),
    errorMessage: text('error_message'),
    /** The last row change that the digest of the run covers. */
    lastChangeSeq: integer('last_change_seq'),
  },
  (table) => [
    index('runs_by_workspace').on(table.workspaceKey, table.runKey),
    index('runs_by_time').on(table.workspaceKey, table.finishedAt).where(sql`applied_seq IS NOT NULL`),
  ],
);

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
    /** JSON array of the signs that the listing changed during the walk. */
    signs: text('signs').notNull(),
  },
  (table) => [primaryKey({ columns: [table.runKey, table.walkNumber] })],
);

/** The last listing of each workspace that a run verified and applied. */
export const knownListings = sqliteTable('known_listings', {
  workspaceKey: integer('workspace_key')
    .primaryKey()
    .references(() => workspaces.workspaceKey),
  /** The first and last period that were requested; null: no limit on that side. */
  fromPeriod: text('from_period'),
  toPeriod: text('to_period'),
  /** The SHA-256 of each page's body, in page order. */
  pageDigests: blob('page_digests', { mode: 'buffer' }).notNull(),
});

/** Leases: which process may sync a workspace, and until when. `holder_start` is a start time from `readProcessStart`. */
export const leases = sqliteTable(
  'leases',
  {
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
  },
  (table) => [index('leases_held').on(table.expiresAt).where(sql`released = 0`)],
);

/** One row per change to a guarded table, written by the triggers `<table>_guard_*` in the same statement. */
export const rowChanges = sqliteTable(
  'row_changes',
  {
    changeSeq: integer('change_seq').primaryKey(),
    tableName: text('table_name').notNull(),
    rowKey: text('row_key').notNull(),
    /** SHA-256 over the guarded columns, in the format of SQLite's `json_array`; null when the row was deleted. */
    rowDigest: blob('row_digest', { mode: 'buffer' }),
  },
  (table) => [index('row_changes_by_row').on(table.tableName, table.rowKey)],
);

export const runTableProperties: readonly TableProperties[] = [
  { table: runs },
  { table: walks },
  { table: knownListings },
  { table: leases },
  { table: rowChanges },
];

/** The figures of a tenant in a period; a close copies these columns unchanged. */
export const usageColumns = {
  periodKey: integer('period_key').notNull(),
  tenantKey: integer('tenant_key').notNull(),
  creditsUsed: int64('credits_used').notNull(),
  requestCount: int64('request_count').notNull(),
  withdrawn: integer('withdrawn').notNull(),
  firstRunKey: integer('first_run_key').notNull(),
  changedRunKey: integer('changed_run_key').notNull(),
};

export const tenantUsage = sqliteTable('tenant_usage', usageColumns, (table) => [
  primaryKey({ columns: [table.periodKey, table.tenantKey] }),
]);

/** `kind` is a number, see ENTRY_KINDS. */
export const usageEntries = sqliteTable(
  'usage_entries',
  {
    entryId: rowKey('entry_id').primaryKey(),
    runKey: integer('run_key').notNull(),
    periodKey: integer('period_key').notNull(),
    tenantKey: integer('tenant_key').notNull(),
    kind: integer('kind').notNull(),
    creditsDelta: int64('credits_delta').notNull(),
    requestsDelta: int64('requests_delta').notNull(),
    creditsAfter: int64('credits_after').notNull(),
    requestsAfter: int64('requests_after').notNull(),
  },
  (table) => [index('usage_entries_by_key').on(table.periodKey, table.tenantKey)],
);

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

export const usageTableProperties: readonly TableProperties[] = [
  { table: usageEntries },
  {
    table: tenantUsage,
  },
  {
    table: absences,
  },
];
