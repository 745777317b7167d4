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
ALTER TABLE `periods` ADD `closed_seq` integer;
--> statement-breakpoint
ALTER TABLE `periods` ADD `unsteady_run_key` integer;
--> statement-breakpoint
ALTER TABLE `walks` ADD `page_digests` blob;
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
DROP VIEW finance_usage;
--> statement-breakpoint
DROP VIEW finance_period_totals;
--> statement-breakpoint
DROP VIEW finance_period_changes;
--> statement-breakpoint
DROP VIEW finance_adjustments;
--> statement-breakpoint
DROP VIEW finance_history;
--> statement-breakpoint
CREATE VIEW finance_usage AS
SELECT w.workspace_id, t.tenant_id, p.period, p.period_start, p.period_end, u.credits_used, u.request_count,
  CASE WHEN p.closed_seq IS NOT NULL THEN 'closed'
    WHEN p.period_end >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') THEN 'open' ELSE 'settling' END AS state,
  f.finished_at AS first_seen_at, c.finished_at AS changed_at, u.withdrawn
FROM tenant_usage u
JOIN periods p ON p.period_key = u.period_key AND p.closed_seq IS NULL
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN tenants t ON t.tenant_key = u.tenant_key AND t.workspace_key = w.workspace_key
LEFT JOIN runs f ON f.run_key = u.first_run_key
LEFT JOIN runs c ON c.run_key = u.changed_run_key
UNION ALL
SELECT w.workspace_id, t.tenant_id, p.period, p.period_start, p.period_end, u.credits_used, u.request_count,
  CASE WHEN p.closed_seq IS NOT NULL THEN 'closed'
    WHEN p.period_end >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') THEN 'open' ELSE 'settling' END AS state,
  f.finished_at AS first_seen_at, c.finished_at AS changed_at, u.withdrawn
FROM closed_usage u
JOIN periods p ON p.period_key = u.period_key AND p.closed_seq IS NOT NULL
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN tenants t ON t.tenant_key = u.tenant_key AND t.workspace_key = w.workspace_key
LEFT JOIN runs f ON f.run_key = u.first_run_key
LEFT JOIN runs c ON c.run_key = u.changed_run_key;
--> statement-breakpoint
CREATE VIEW finance_period_totals AS
SELECT w.workspace_id, p.period,
  CASE WHEN p.closed_seq IS NULL
    THEN (SELECT count(*) FROM tenant_usage u WHERE u.period_key = p.period_key AND u.withdrawn = 0)
    ELSE e.tenants END AS tenants,
  CASE WHEN p.closed_seq IS NULL
    THEN (SELECT coalesce(sum(u.credits_used), 0) FROM tenant_usage u WHERE u.period_key = p.period_key)
    ELSE e.credits_used END AS credits_used,
  CASE WHEN p.closed_seq IS NULL
    THEN (SELECT coalesce(sum(u.request_count), 0) FROM tenant_usage u WHERE u.period_key = p.period_key)
    ELSE e.request_count END AS request_count,
  CASE WHEN p.closed_seq IS NOT NULL THEN 'closed'
    WHEN p.period_end >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') THEN 'open' ELSE 'settling' END AS state,
  CASE WHEN r.started_at > p.period_end THEN 1 ELSE 0 END AS complete,
  r.finished_at AS as_of,
  (SELECT coalesce(sum(a.credits_delta), 0) FROM adjustments a WHERE a.booked_period_key = p.period_key) AS adjustment_credits,
  (SELECT coalesce(sum(a.requests_delta), 0) FROM adjustments a WHERE a.booked_period_key = p.period_key) AS adjustment_requests,
  e.at AS closed_at, e.actor AS closed_by, e.note AS close_note, e.forced AS close_forced
FROM periods p
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN period_events e ON e.event_seq = p.closed_seq
LEFT JOIN runs r ON r.run_key = p.covered_run_key;
--> statement-breakpoint
CREATE VIEW finance_period_changes AS
SELECT w.workspace_id, t.tenant_id, p.period, u.credits_used, CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END AS previous_credits,
  u.credits_used - CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END AS credits_change,
  CASE WHEN CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END <> 0
    THEN round(100.0 * (u.credits_used - CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END) / abs(CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END), 2) END AS change_percent,
  u.request_count, CASE WHEN q.closed_seq IS NULL THEN v.request_count ELSE x.request_count END AS previous_requests
FROM tenant_usage u
JOIN periods p ON p.period_key = u.period_key AND p.closed_seq IS NULL
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN tenants t ON t.tenant_key = u.tenant_key AND t.workspace_key = w.workspace_key
LEFT JOIN periods q ON q.period_key = u.period_key - 1
LEFT JOIN tenant_usage v ON v.period_key = u.period_key - 1 AND v.tenant_key = u.tenant_key
LEFT JOIN closed_usage x ON x.period_key = u.period_key - 1 AND x.tenant_key = u.tenant_key
UNION ALL
SELECT w.workspace_id, t.tenant_id, p.period, u.credits_used, CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END AS previous_credits,
  u.credits_used - CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END AS credits_change,
  CASE WHEN CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END <> 0
    THEN round(100.0 * (u.credits_used - CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END) / abs(CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END), 2) END AS change_percent,
  u.request_count, CASE WHEN q.closed_seq IS NULL THEN v.request_count ELSE x.request_count END AS previous_requests
FROM closed_usage u
JOIN periods p ON p.period_key = u.period_key AND p.closed_seq IS NOT NULL
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN tenants t ON t.tenant_key = u.tenant_key AND t.workspace_key = w.workspace_key
LEFT JOIN periods q ON q.period_key = u.period_key - 1
LEFT JOIN tenant_usage v ON v.period_key = u.period_key - 1 AND v.tenant_key = u.tenant_key
LEFT JOIN closed_usage x ON x.period_key = u.period_key - 1 AND x.tenant_key = u.tenant_key;
--> statement-breakpoint
CREATE VIEW finance_adjustments AS
SELECT w.workspace_id, t.tenant_id, p.period AS corrects_period, b.period AS booked_period, a.credits_delta, a.requests_delta,
  a.recorded_at, r.run_id, CASE WHEN a.event_seq IS NULL THEN 'correction' ELSE 'reopen' END AS kind, a.entry_id
FROM adjustments a
JOIN periods p ON p.period_key = a.corrects_period_key
JOIN periods b ON b.period_key = a.booked_period_key
JOIN workspaces w ON w.workspace_key = p.workspace_key
JOIN tenants t ON t.tenant_key = a.tenant_key
LEFT JOIN runs r ON r.run_key = a.run_key;
--> statement-breakpoint
CREATE VIEW finance_closes AS
SELECT w.workspace_id, p.period, e.action, e.at, e.actor, e.note, e.forced, e.overridden, e.tenants, e.credits_used,
  e.request_count, e.event_seq, e.previous_digest, e.digest
FROM period_events e
JOIN periods p ON p.period_key = e.period_key
JOIN workspaces w ON w.workspace_key = e.workspace_key;
--> statement-breakpoint
CREATE VIEW finance_history AS
SELECT e.entry_id, r.run_id, r.finished_at AS recorded_at, w.workspace_id, t.tenant_id, p.period,
  CASE e.kind WHEN 1 THEN 'opened' WHEN 2 THEN 'increased' WHEN 3 THEN 'decreased' WHEN 4 THEN 'withdrawn' WHEN 5 THEN 'restored' END AS kind,
  e.credits_delta, e.requests_delta, e.credits_after, e.requests_after
FROM usage_entries e
JOIN periods p ON p.period_key = e.period_key
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN tenants t ON t.tenant_key = e.tenant_key AND t.workspace_key = w.workspace_key
LEFT JOIN runs r ON r.run_key = e.run_key;
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
