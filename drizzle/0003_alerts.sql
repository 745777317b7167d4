DROP VIEW finance_alerts;
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
CREATE TABLE `__new_alerts` (
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
INSERT INTO `__new_alerts` (alert_key, alert_id, rule, rule_version, workspace_key, tenant_key, period_key, stage, severity, state, previous_credits, current_credits, previous_requests, current_requests, threshold, first_fired_at, last_changed_at, revision, notified_measure)
SELECT alert_key, alert_id, rule, rule_version, workspace_key, tenant_key, period_key, stage, severity, state, previous_credits, current_credits, previous_requests, current_requests, threshold, first_fired_at, last_changed_at, revision, current_credits FROM alerts;
--> statement-breakpoint
DROP TABLE `alerts`;
--> statement-breakpoint
ALTER TABLE `__new_alerts` RENAME TO `alerts`;
--> statement-breakpoint
CREATE UNIQUE INDEX `alerts_alert_id_unique` ON `alerts` (`alert_id`);
--> statement-breakpoint
CREATE UNIQUE INDEX `alerts_by_subject` ON `alerts` (`rule`, `workspace_key`, coalesce(period_key, 0), coalesce(tenant_key, 0));
--> statement-breakpoint
CREATE INDEX `alerts_open` ON `alerts` (`workspace_key`) WHERE state IN ('pending', 'firing', 'acknowledged');
--> statement-breakpoint
CREATE INDEX `alerts_by_incident` ON `alerts` (`incident_key`) WHERE incident_key IS NOT NULL;
--> statement-breakpoint
CREATE TABLE `__new_alert_transitions` (
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
INSERT INTO `__new_alert_transitions` (alert_key, revision, change, state, stage, run_key, actor, at, current_credits, silent, silent_because)
SELECT alert_key, revision,
  CASE WHEN state = 'resolved' THEN 'resolved'
    WHEN lag(state) OVER (PARTITION BY alert_key ORDER BY revision) IN ('firing', 'acknowledged') THEN 'escalated'
    ELSE 'fired' END,
  state, stage, run_key, actor, at, current_credits, silent,
  CASE WHEN silent = 1 THEN CASE state WHEN 'resolved' THEN 'unheard' ELSE 'seed' END END
FROM alert_transitions;
--> statement-breakpoint
DROP TABLE `alert_transitions`;
--> statement-breakpoint
ALTER TABLE `__new_alert_transitions` RENAME TO `alert_transitions`;
--> statement-breakpoint
CREATE TRIGGER alert_transitions_no_update BEFORE UPDATE ON alert_transitions BEGIN SELECT RAISE(ABORT, 'alert_transitions is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER alert_transitions_no_delete BEFORE DELETE ON alert_transitions BEGIN SELECT RAISE(ABORT, 'alert_transitions is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER silences_no_delete BEFORE DELETE ON silences BEGIN SELECT RAISE(ABORT, 'silences are ended, not deleted'); END;
--> statement-breakpoint
CREATE VIEW finance_alerts AS
SELECT a.alert_id, w.workspace_id, t.tenant_id, p.period, a.rule, a.stage, a.severity, a.state,
  a.previous_credits, a.current_credits, a.threshold, a.first_fired_at, a.last_changed_at,
  a.previous_requests, a.current_requests, a.level, x.silent_because AS muted_because
FROM alerts a
JOIN workspaces w ON w.workspace_key = a.workspace_key
LEFT JOIN alert_transitions x ON x.alert_key = a.alert_key AND x.revision = a.revision
LEFT JOIN tenants t ON t.tenant_key = a.tenant_key
LEFT JOIN periods p ON p.period_key = a.period_key;
