CREATE TABLE `alert_transitions` (
  `alert_key` integer NOT NULL,
  `revision` integer NOT NULL,
  `state` text NOT NULL,
  `stage` text NOT NULL,
  `run_key` integer,
  `actor` text NOT NULL,
  `at` text NOT NULL,
  `current_credits` integer NOT NULL,
  `silent` integer NOT NULL,
  PRIMARY KEY(`alert_key`, `revision`),
  FOREIGN KEY (`alert_key`) REFERENCES `alerts`(`alert_key`) ON UPDATE no action ON DELETE no action
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `alerts` (
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
  `previous_credits` integer NOT NULL,
  `current_credits` integer NOT NULL,
  `previous_requests` integer NOT NULL,
  `current_requests` integer NOT NULL,
  `threshold` integer NOT NULL,
  `first_fired_at` text NOT NULL,
  `last_changed_at` text NOT NULL,
  `revision` integer NOT NULL,
  FOREIGN KEY (`workspace_key`) REFERENCES `workspaces`(`workspace_key`) ON UPDATE no action ON DELETE no action,
  FOREIGN KEY (`tenant_key`) REFERENCES `tenants`(`tenant_key`) ON UPDATE no action ON DELETE no action,
  FOREIGN KEY (`period_key`) REFERENCES `periods`(`period_key`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `alerts_alert_id_unique` ON `alerts` (`alert_id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `alerts_by_subject` ON `alerts` (`rule`,`period_key`,`tenant_key`);
--> statement-breakpoint
CREATE INDEX `alerts_open` ON `alerts` (`workspace_key`) WHERE state IN ('pending', 'firing', 'acknowledged');
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
CREATE TABLE `outbox` (
  `notification_id` text PRIMARY KEY NOT NULL,
  `alert_key` integer NOT NULL,
  `channel` text NOT NULL,
  `payload` text NOT NULL,
  `state` text NOT NULL,
  `attempts` integer DEFAULT 0 NOT NULL,
  `created_at` text NOT NULL,
  `next_attempt_at` text NOT NULL,
  `claimed_until` text,
  `delivered_at` text,
  `last_error` text,
  FOREIGN KEY (`alert_key`) REFERENCES `alerts`(`alert_key`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `outbox_due` ON `outbox` (`next_attempt_at`) WHERE state = 'pending';
--> statement-breakpoint
CREATE TABLE `periods` (
  `period_key` integer PRIMARY KEY NOT NULL,
  `workspace_key` integer NOT NULL,
  `period` text NOT NULL,
  `period_start` text NOT NULL,
  `period_end` text NOT NULL,
  `covered_run_key` integer,
  `final_run_key` integer,
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
  `signs` text NOT NULL,
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
CREATE TRIGGER alert_transitions_no_update BEFORE UPDATE ON alert_transitions BEGIN SELECT RAISE(ABORT, 'alert_transitions is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER alert_transitions_no_delete BEFORE DELETE ON alert_transitions BEGIN SELECT RAISE(ABORT, 'alert_transitions is append-only'); END;
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
CREATE VIEW finance_usage AS
SELECT w.workspace_id, t.tenant_id, p.period, p.period_start, p.period_end, u.credits_used, u.request_count,
  CASE WHEN p.period_end >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') THEN 'open' ELSE 'settling' END AS state,
  f.finished_at AS first_seen_at, c.finished_at AS changed_at, u.withdrawn
FROM tenant_usage u
JOIN periods p ON p.period_key = u.period_key
JOIN workspaces w ON w.workspace_key = p.workspace_key
JOIN tenants t ON t.tenant_key = u.tenant_key
JOIN runs f ON f.run_key = u.first_run_key
JOIN runs c ON c.run_key = u.changed_run_key;
--> statement-breakpoint
CREATE VIEW finance_period_totals AS
SELECT w.workspace_id, p.period,
  (SELECT count(*) FROM tenant_usage u WHERE u.period_key = p.period_key AND u.withdrawn = 0) AS tenants,
  (SELECT coalesce(sum(u.credits_used), 0) FROM tenant_usage u WHERE u.period_key = p.period_key) AS credits_used,
  (SELECT coalesce(sum(u.request_count), 0) FROM tenant_usage u WHERE u.period_key = p.period_key) AS request_count,
  CASE WHEN p.period_end >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') THEN 'open' ELSE 'settling' END AS state,
  CASE WHEN r.finished_at > p.period_end THEN 1 ELSE 0 END AS complete,
  r.finished_at AS as_of
FROM periods p
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN runs r ON r.run_key = p.covered_run_key;
--> statement-breakpoint
CREATE VIEW finance_period_changes AS
SELECT w.workspace_id, t.tenant_id, p.period, u.credits_used, v.credits_used AS previous_credits,
  u.credits_used - v.credits_used AS credits_change,
  CASE WHEN v.credits_used <> 0 THEN round(100.0 * (u.credits_used - v.credits_used) / abs(v.credits_used), 2) END AS change_percent,
  u.request_count, v.request_count AS previous_requests
FROM tenant_usage u
JOIN periods p ON p.period_key = u.period_key
JOIN workspaces w ON w.workspace_key = p.workspace_key
JOIN tenants t ON t.tenant_key = u.tenant_key
LEFT JOIN tenant_usage v ON v.period_key = u.period_key - 1 AND v.tenant_key = u.tenant_key;
--> statement-breakpoint
CREATE VIEW finance_history AS
SELECT e.entry_id, r.run_id, r.finished_at AS recorded_at, w.workspace_id, t.tenant_id, p.period,
  CASE e.kind WHEN 1 THEN 'opened' WHEN 2 THEN 'increased' WHEN 3 THEN 'decreased' WHEN 4 THEN 'withdrawn' WHEN 5 THEN 'restored' END AS kind,
  e.credits_delta, e.requests_delta, e.credits_after, e.requests_after
FROM usage_entries e
JOIN periods p ON p.period_key = e.period_key
JOIN workspaces w ON w.workspace_key = p.workspace_key
JOIN tenants t ON t.tenant_key = e.tenant_key
JOIN runs r ON r.run_key = e.run_key;
--> statement-breakpoint
CREATE VIEW finance_adjustments AS
SELECT '' AS workspace_id, '' AS tenant_id, '' AS corrects_period, '' AS booked_period, 0 AS credits_delta, '' AS recorded_at, '' AS run_id
WHERE 0;
--> statement-breakpoint
CREATE VIEW finance_charges AS
SELECT '' AS workspace_id, '' AS tenant_id, '' AS period, 0 AS credits_used, 0 AS amount_minor, '' AS currency, '' AS rate_card
WHERE 0;
--> statement-breakpoint
CREATE VIEW finance_alerts AS
SELECT a.alert_id, w.workspace_id, t.tenant_id, p.period, a.rule, a.stage, a.severity, a.state,
  a.previous_credits, a.current_credits, a.threshold, a.first_fired_at, a.last_changed_at
FROM alerts a
JOIN workspaces w ON w.workspace_key = a.workspace_key
LEFT JOIN tenants t ON t.tenant_key = a.tenant_key
LEFT JOIN periods p ON p.period_key = a.period_key;
--> statement-breakpoint
CREATE VIEW finance_freshness AS
SELECT w.workspace_id,
  (SELECT r.finished_at FROM runs r WHERE r.workspace_key = w.workspace_key AND r.status = 'applied' ORDER BY r.run_key DESC LIMIT 1) AS last_complete_run_at,
  (SELECT r.started_at FROM runs r WHERE r.workspace_key = w.workspace_key ORDER BY r.run_key DESC LIMIT 1) AS last_attempt_at,
  (SELECT r.status FROM runs r WHERE r.workspace_key = w.workspace_key ORDER BY r.run_key DESC LIMIT 1) AS last_status,
  (SELECT min(p.period) FROM periods p WHERE p.workspace_key = w.workspace_key AND p.covered_run_key IS NOT NULL) AS covers_from,
  (SELECT max(p.period) FROM periods p WHERE p.workspace_key = w.workspace_key AND p.covered_run_key IS NOT NULL) AS covers_to
FROM workspaces w;
--> statement-breakpoint
CREATE VIEW finance_runs AS
SELECT r.run_id, w.workspace_id, r.status, r.from_period, r.to_period, r.started_at, r.finished_at, r.pages, r.records, r.entries,
  r.digest, r.error_code, r.kind, r.slot, r.error_message
FROM runs r
JOIN workspaces w ON w.workspace_key = r.workspace_key;
