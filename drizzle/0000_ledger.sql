CREATE TABLE `absences` (
  `period_key` integer NOT NULL,
  `tenant_key` integer NOT NULL,
  `run_key` integer NOT NULL,
  PRIMARY KEY(`period_key`, `tenant_key`),
  FOREIGN KEY (`run_key`) REFERENCES `runs`(`run_key`) ON UPDATE no action ON DELETE no action
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `adjustments` (
  `adjustment_id` integer PRIMARY KEY NOT NULL,
  `corrects_period_key` integer NOT NULL,
  `tenant_key` integer NOT NULL,
  `booked_period_key` integer NOT NULL,
  `credits_delta` integer NOT NULL,
  `requests_delta` integer NOT NULL,
  `recorded_at` text NOT NULL,
  `run_key` integer,
  `entry_id` integer,
  `event_seq` integer,
  FOREIGN KEY (`corrects_period_key`) REFERENCES `periods`(`period_key`) ON UPDATE no action ON DELETE no action,
  FOREIGN KEY (`tenant_key`) REFERENCES `tenants`(`tenant_key`) ON UPDATE no action ON DELETE no action,
  FOREIGN KEY (`booked_period_key`) REFERENCES `periods`(`period_key`) ON UPDATE no action ON DELETE no action,
  FOREIGN KEY (`run_key`) REFERENCES `runs`(`run_key`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `adjustments_by_key` ON `adjustments` (`corrects_period_key`,`tenant_key`);
--> statement-breakpoint
CREATE INDEX `adjustments_by_booking` ON `adjustments` (`booked_period_key`);
--> statement-breakpoint
CREATE INDEX `adjustments_by_run` ON `adjustments` (`run_key`);
--> statement-breakpoint
CREATE INDEX `adjustments_by_event` ON `adjustments` (`event_seq`);
--> statement-breakpoint
CREATE TABLE "alert_transitions" (
  `alert_key` integer NOT NULL,
  `revision` integer NOT NULL,
  `change` text NOT NULL,
  `state` text NOT NULL,
  `stage` text NOT NULL,
  `run_key` integer,
  `actor` text NOT NULL,
  `at` text NOT NULL,
  `current_credits` integer,
  `silent` integer NOT NULL,
  `silent_because` text,
  `note` text,
  `evidence` text,
  PRIMARY KEY(`alert_key`, `revision`),
  FOREIGN KEY (`alert_key`) REFERENCES `alerts`(`alert_key`) ON UPDATE no action ON DELETE no action
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE "alerts" (
  `alert_key` integer PRIMARY KEY NOT NULL,
  `alert_id` text NOT NULL,
  `rule` text NOT NULL,
  `rule_version` integer NOT NULL,
  `workspace_key` integer NOT NULL,
  `tenant_key` integer,
  `period_key` integer,
  `stage` text NOT NULL,
  `severity` text NOT NULL,
  `state` text NOT NULL,
  `previous_credits` integer,
  `current_credits` integer,
  `previous_requests` integer,
  `current_requests` integer,
  `threshold` integer,
  `first_fired_at` text,
  `last_changed_at` text NOT NULL,
  `revision` integer NOT NULL,
  `level` integer DEFAULT 0 NOT NULL,
  `notified_measure` integer,
  `pending_since` text,
  `clear_run_key` integer,
  `incident_key` integer,
  `detail` text,
  FOREIGN KEY (`workspace_key`) REFERENCES `workspaces`(`workspace_key`) ON UPDATE no action ON DELETE no action,
  FOREIGN KEY (`tenant_key`) REFERENCES `tenants`(`tenant_key`) ON UPDATE no action ON DELETE no action,
  FOREIGN KEY (`period_key`) REFERENCES `periods`(`period_key`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `alerts_alert_id_unique` ON `alerts` (`alert_id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `alerts_by_subject` ON `alerts` (`rule`, `workspace_key`, coalesce(period_key, 0), coalesce(tenant_key, 0));
--> statement-breakpoint
CREATE INDEX `alerts_open` ON `alerts` (`workspace_key`) WHERE state IN ('pending', 'firing', 'acknowledged');
--> statement-breakpoint
CREATE INDEX `alerts_by_incident` ON `alerts` (`incident_key`) WHERE incident_key IS NOT NULL;
--> statement-breakpoint
CREATE TABLE `channel_states` (
  `name` text PRIMARY KEY NOT NULL,
  `disabled_at` text NOT NULL,
  `reason` text NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `closed_usage` (
  `period_key` integer NOT NULL,
  `tenant_key` integer NOT NULL,
  `credits_used` integer NOT NULL,
  `request_count` integer NOT NULL,
  `withdrawn` integer NOT NULL,
  `first_run_key` integer NOT NULL,
  `changed_run_key` integer NOT NULL,
  PRIMARY KEY(`period_key`, `tenant_key`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `leases` (
  `workspace_key` integer PRIMARY KEY NOT NULL,
  `fencing_token` integer NOT NULL,
  `run_key` integer NOT NULL,
  `holder_host` text NOT NULL,
  `holder_pid` integer NOT NULL,
  `expires_at` text NOT NULL,
  `released` integer DEFAULT 0 NOT NULL,
  FOREIGN KEY (`workspace_key`) REFERENCES `workspaces`(`workspace_key`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE TABLE `ledger_meta` (
  `name` text PRIMARY KEY NOT NULL,
  `value` text NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE "outbox" (
  `notification_id` text PRIMARY KEY NOT NULL,
  `alert_key` integer,
  `revision` integer,
  `channel` text NOT NULL,
  `payload` text NOT NULL,
  `state` text NOT NULL,
  `attempts` integer DEFAULT 0 NOT NULL,
  `attempts_before` integer DEFAULT 0 NOT NULL,
  `created_at` text NOT NULL,
  `next_attempt_at` text NOT NULL,
  `claimed_until` text,
  `delivered_at` text,
  `last_error` text,
  `digest_at` text,
  `digest_id` text,
  FOREIGN KEY (`alert_key`) REFERENCES `alerts`(`alert_key`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `outbox_due` ON `outbox` (`next_attempt_at`) WHERE state = 'pending';
--> statement-breakpoint
CREATE INDEX `outbox_held` ON `outbox` (`next_attempt_at`) WHERE state = 'held';
--> statement-breakpoint
CREATE INDEX `outbox_by_alert` ON `outbox` (`alert_key`) WHERE alert_key IS NOT NULL;
--> statement-breakpoint
CREATE TABLE `period_events` (
  `event_seq` integer PRIMARY KEY NOT NULL,
  `workspace_key` integer NOT NULL,
  `period_key` integer NOT NULL,
  `action` text NOT NULL,
  `at` text NOT NULL,
  `actor` text NOT NULL,
  `note` text NOT NULL,
  `forced` integer NOT NULL,
  `overridden` text NOT NULL,
  `tenants` integer NOT NULL,
  `credits_used` integer NOT NULL,
  `request_count` integer NOT NULL,
  `last_entry_id` integer NOT NULL,
  `previous_digest` text NOT NULL,
  `digest` text NOT NULL,
  FOREIGN KEY (`workspace_key`) REFERENCES `workspaces`(`workspace_key`) ON UPDATE no action ON DELETE no action,
  FOREIGN KEY (`period_key`) REFERENCES `periods`(`period_key`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE TABLE `periods` (
  `period_key` integer PRIMARY KEY NOT NULL,
  `workspace_key` integer NOT NULL,
  `period` text NOT NULL,
  `period_start` text NOT NULL,
  `period_end` text NOT NULL,
  `covered_run_key` integer,
  `final_run_key` integer, `closed_seq` integer, `unsteady_run_key` integer, `figures_digest` blob,
  FOREIGN KEY (`workspace_key`) REFERENCES `workspaces`(`workspace_key`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `periods_by_name` ON `periods` (`workspace_key`,`period`);
--> statement-breakpoint
CREATE TABLE `runs` (
  `run_key` integer PRIMARY KEY NOT NULL,
  `run_id` text NOT NULL,
  `workspace_key` integer NOT NULL,
  `kind` text NOT NULL,
  `slot` text,
  `status` text NOT NULL,
  `fencing_token` integer NOT NULL,
  `from_period` text,
  `to_period` text,
  `started_at` text NOT NULL,
  `finished_at` text,
  `pages` integer DEFAULT 0 NOT NULL,
  `records` integer DEFAULT 0 NOT NULL,
  `entries` integer DEFAULT 0 NOT NULL,
  `first_entry_id` integer,
  `applied_seq` integer,
  `previous_digest` text,
  `digest` text,
  `error_code` text,
  `error_message` text,
  FOREIGN KEY (`workspace_key`) REFERENCES `workspaces`(`workspace_key`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `runs_run_id_unique` ON `runs` (`run_id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `runs_applied_seq_unique` ON `runs` (`applied_seq`);
--> statement-breakpoint
CREATE INDEX `runs_by_workspace` ON `runs` (`workspace_key`,`run_key`);
--> statement-breakpoint
CREATE TABLE `silences` (
  `silence_key` integer PRIMARY KEY NOT NULL,
  `silence_id` text NOT NULL,
  `kind` text NOT NULL,
  `workspace_key` integer,
  `rule` text NOT NULL,
  `tenant` text NOT NULL,
  `period` text NOT NULL,
  `up_to_credits` integer,
  `until` text NOT NULL,
  `reason` text NOT NULL,
  `created_by` text NOT NULL,
  `created_at` text NOT NULL,
  `ended_at` text,
  `ended_by` text,
  FOREIGN KEY (`workspace_key`) REFERENCES `workspaces`(`workspace_key`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `silences_silence_id_unique` ON `silences` (`silence_id`);
--> statement-breakpoint
CREATE TABLE `tenant_usage` (
  `period_key` integer NOT NULL,
  `tenant_key` integer NOT NULL,
  `credits_used` integer NOT NULL,
  `request_count` integer NOT NULL,
  `withdrawn` integer NOT NULL,
  `first_run_key` integer NOT NULL,
  `changed_run_key` integer NOT NULL,
  PRIMARY KEY(`period_key`, `tenant_key`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `tenants` (
  `tenant_key` integer PRIMARY KEY NOT NULL,
  `workspace_key` integer NOT NULL,
  `tenant_id` text NOT NULL,
  FOREIGN KEY (`workspace_key`) REFERENCES `workspaces`(`workspace_key`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `tenants_by_id` ON `tenants` (`workspace_key`,`tenant_id`);
--> statement-breakpoint
CREATE TABLE `usage_entries` (
  `entry_id` integer PRIMARY KEY NOT NULL,
  `run_key` integer NOT NULL,
  `period_key` integer NOT NULL,
  `tenant_key` integer NOT NULL,
  `kind` integer NOT NULL,
  `credits_delta` integer NOT NULL,
  `requests_delta` integer NOT NULL,
  `credits_after` integer NOT NULL,
  `requests_after` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `usage_entries_by_key` ON `usage_entries` (`period_key`,`tenant_key`);
--> statement-breakpoint
CREATE TABLE `walks` (
  `run_key` integer NOT NULL,
  `walk_number` integer NOT NULL,
  `started_at` text NOT NULL,
  `finished_at` text NOT NULL,
  `pages` integer NOT NULL,
  `records` integer NOT NULL,
  `distinct_keys` integer NOT NULL,
  `total_records` integer NOT NULL,
  `total_pages` integer NOT NULL,
  `key_set_digest` text NOT NULL,
  `content_digest` text NOT NULL,
  `verdict` text NOT NULL,
  `signs` text NOT NULL, `page_digests` blob,
  PRIMARY KEY(`run_key`, `walk_number`),
  FOREIGN KEY (`run_key`) REFERENCES `runs`(`run_key`) ON UPDATE no action ON DELETE no action
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `workspaces` (
  `workspace_key` integer PRIMARY KEY NOT NULL,
  `workspace_id` text NOT NULL,
  `name` text NOT NULL,
  `first_run_key` integer
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `workspaces_workspace_id_unique` ON `workspaces` (`workspace_id`);
--> statement-breakpoint
CREATE TRIGGER usage_entries_no_update BEFORE UPDATE ON usage_entries BEGIN SELECT RAISE(ABORT, 'usage_entries is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER usage_entries_no_delete BEFORE DELETE ON usage_entries BEGIN SELECT RAISE(ABORT, 'usage_entries is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER walks_no_update BEFORE UPDATE ON walks BEGIN SELECT RAISE(ABORT, 'walks is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER walks_no_delete BEFORE DELETE ON walks BEGIN SELECT RAISE(ABORT, 'walks is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER runs_published_no_update BEFORE UPDATE ON runs WHEN old.applied_seq IS NOT NULL BEGIN SELECT RAISE(ABORT, 'a published run never changes'); END;
--> statement-breakpoint
CREATE TRIGGER runs_no_delete BEFORE DELETE ON runs BEGIN SELECT RAISE(ABORT, 'runs are never deleted'); END;
--> statement-breakpoint
CREATE TRIGGER leases_token_increases BEFORE UPDATE ON leases WHEN new.fencing_token < old.fencing_token BEGIN SELECT RAISE(ABORT, 'a fencing token never decreases'); END;
--> statement-breakpoint
CREATE TRIGGER period_events_no_update BEFORE UPDATE ON period_events BEGIN SELECT RAISE(ABORT, 'period_events is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER period_events_no_delete BEFORE DELETE ON period_events BEGIN SELECT RAISE(ABORT, 'period_events is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER adjustments_no_update BEFORE UPDATE ON adjustments BEGIN SELECT RAISE(ABORT, 'adjustments is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER adjustments_no_delete BEFORE DELETE ON adjustments BEGIN SELECT RAISE(ABORT, 'adjustments is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER closed_usage_no_update BEFORE UPDATE ON closed_usage BEGIN SELECT RAISE(ABORT, 'closed figures never change'); END;
--> statement-breakpoint
CREATE TRIGGER alert_transitions_no_update BEFORE UPDATE ON alert_transitions BEGIN SELECT RAISE(ABORT, 'alert_transitions is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER alert_transitions_no_delete BEFORE DELETE ON alert_transitions BEGIN SELECT RAISE(ABORT, 'alert_transitions is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER silences_no_delete BEFORE DELETE ON silences BEGIN SELECT RAISE(ABORT, 'silences are ended, not deleted'); END;
--> statement-breakpoint
ANALYZE sqlite_schema;
--> statement-breakpoint
-- Made-up statistics of a large ledger: without any, SQLite reads whole workspaces where it should read one period.
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('workspaces', 'workspaces_workspace_id_unique', '20 1'),
  ('periods', 'periods_by_name', '480 24 1'),
  ('tenants', 'tenants_by_id', '100000 5000 1'),
  ('tenant_usage', 'tenant_usage', '2400000 5000 1'),
  ('closed_usage', 'closed_usage', '1200000 5000 1'),
  ('usage_entries', 'usage_entries_by_key', '9600000 20000 4'),
  ('runs', 'runs_by_workspace', '200000 10000 1'),
  ('runs', 'runs_applied_seq_unique', '200000 1'),
  ('runs', 'runs_run_id_unique', '200000 1'),
  ('period_events', NULL, '200'),
  ('adjustments', 'adjustments_by_key', '10000 50 2'),
  ('adjustments', 'adjustments_by_booking', '10000 50'),
  ('adjustments', 'adjustments_by_run', '10000 10'),
  ('adjustments', 'adjustments_by_event', '10000 1000');
--> statement-breakpoint
-- Loads them into this connection.
ANALYZE sqlite_schema;
