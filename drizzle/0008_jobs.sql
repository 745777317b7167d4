-- A fault of our own names its cause, and one of the ledger as a whole stands in no workspace.
CREATE TABLE alerts_new (
  alert_key integer PRIMARY KEY NOT NULL,
  alert_id text NOT NULL,
  rule text NOT NULL,
  rule_version integer NOT NULL,
  workspace_key integer,
  tenant_key integer,
  period_key integer,
  cause text,
  level text NOT NULL,
  severity text NOT NULL,
  state text NOT NULL,
  previous_credits integer,
  current_credits integer,
  previous_requests integer,
  current_requests integer,
  threshold integer,
  first_fired_at text,
  last_changed_at text NOT NULL,
  revision integer NOT NULL,
  told_times integer DEFAULT 0 NOT NULL,
  measure integer,
  pending_since text,
  clear_run_key integer,
  incident_key integer,
  detail text,
  episode integer NOT NULL DEFAULT 0,
  began_at text,
  basis text,
  ask_at text,
  asked_at text,
  FOREIGN KEY (workspace_key) REFERENCES workspaces(workspace_key) ON UPDATE no action ON DELETE no action,
  FOREIGN KEY (tenant_key) REFERENCES tenants(tenant_key) ON UPDATE no action ON DELETE no action,
  FOREIGN KEY (period_key) REFERENCES periods(period_key) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
INSERT INTO alerts_new
SELECT a.alert_key, a.alert_id,
  CASE WHEN a.rule IN ('auth_failed', 'clock_skew') THEN 'sync_failed'
    WHEN a.rule IN ('publish_stale', 'export_failed', 'clock_moved') THEN 'job_failed' ELSE a.rule END,
  a.rule_version,
  CASE WHEN a.rule NOT IN ('publish_stale', 'export_failed', 'clock_moved') THEN a.workspace_key END,
  a.tenant_key, a.period_key,
  CASE a.rule WHEN 'sync_failed' THEN 'service' WHEN 'auth_failed' THEN 'credentials' WHEN 'clock_skew' THEN 'clock'
    WHEN 'publish_stale' THEN 'replica' WHEN 'export_failed' THEN 'export' WHEN 'clock_moved' THEN 'clock' WHEN 'job_failed' THEN 'alerting' END
  -- Of several that a ledger had of one job, for it stood in a workspace that has moved, the latest goes on.
    || iif(a.rule IN ('publish_stale', 'export_failed', 'clock_moved') AND EXISTS (
      SELECT 1 FROM alerts later WHERE later.rule = a.rule AND later.alert_key > a.alert_key), ':' || a.alert_key, ''),
  a.level, a.severity, a.state, a.previous_credits, a.current_credits, a.previous_requests, a.current_requests, a.threshold,
  a.first_fired_at, a.last_changed_at, a.revision, a.told_times, a.measure, a.pending_since, a.clear_run_key, a.incident_key,
  a.detail, a.episode, a.began_at, a.basis, a.ask_at, a.asked_at
FROM alerts a;
--> statement-breakpoint
DROP TABLE alerts;
--> statement-breakpoint
ALTER TABLE alerts_new RENAME TO alerts;
--> statement-breakpoint
CREATE UNIQUE INDEX alerts_alert_id_unique ON alerts (alert_id);
--> statement-breakpoint
CREATE UNIQUE INDEX alerts_by_subject ON alerts (rule, coalesce(workspace_key, 0), coalesce(period_key, 0), coalesce(tenant_key, 0), coalesce(cause, ''));
--> statement-breakpoint
CREATE INDEX alerts_open ON alerts (workspace_key) WHERE state IN ('pending', 'firing', 'acknowledged');
--> statement-breakpoint
CREATE INDEX alerts_by_incident ON alerts (incident_key) WHERE incident_key IS NOT NULL;
--> statement-breakpoint
CREATE INDEX alerts_to_ask ON alerts (ask_at) WHERE ask_at IS NOT NULL;
--> statement-breakpoint
-- What has not been delivered says it by the new names, too.
UPDATE outbox SET payload = json_set(payload, '$.rule', a.rule, '$.cause', a.cause,
  '$.workspace_id', (SELECT w.workspace_id FROM workspaces w WHERE w.workspace_key = a.workspace_key))
FROM alerts a WHERE a.alert_key = outbox.alert_key AND a.cause IS NOT NULL AND outbox.state IN ('pending', 'held', 'dead')
  AND outbox.event IS NOT NULL;
--> statement-breakpoint
UPDATE silences SET rule = CASE rule WHEN 'sync_failed' THEN 'sync_failed:service' WHEN 'auth_failed' THEN 'sync_failed:credentials'
  WHEN 'clock_skew' THEN 'sync_failed:clock' WHEN 'publish_stale' THEN 'job_failed:replica'
  WHEN 'export_failed' THEN 'job_failed:export' WHEN 'clock_moved' THEN 'job_failed:clock' ELSE 'job_failed:alerting' END
WHERE rule IN ('sync_failed', 'auth_failed', 'clock_skew', 'publish_stale', 'export_failed', 'clock_moved', 'job_failed');
