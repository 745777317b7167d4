-- Written on every walk, read by nobody.
ALTER TABLE walks DROP COLUMN page_digests;
--> statement-breakpoint
CREATE INDEX `outbox_dead` ON `outbox` (`created_at`,`notification_id`) WHERE state = 'dead';
--> statement-breakpoint
-- What people say of alerts afterwards.
CREATE TABLE `alert_feedback` (
  `feedback_key` integer PRIMARY KEY NOT NULL,
  `alert_key` integer NOT NULL,
  `label` text NOT NULL,
  `note` text,
  `actor` text NOT NULL,
  `at` text NOT NULL,
  FOREIGN KEY (`alert_key`) REFERENCES `alerts`(`alert_key`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `alert_feedback_by_alert` ON `alert_feedback` (`alert_key`);
--> statement-breakpoint
CREATE TRIGGER alert_feedback_no_update BEFORE UPDATE ON alert_feedback BEGIN SELECT RAISE(ABORT, 'alert_feedback is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER alert_feedback_no_delete BEFORE DELETE ON alert_feedback BEGIN SELECT RAISE(ABORT, 'alert_feedback is append-only'); END;
--> statement-breakpoint
-- Which process of that id holds the lease.
ALTER TABLE leases ADD `holder_start` text;
--> statement-breakpoint
CREATE INDEX `outbox_done` ON `outbox` (`created_at`) WHERE state IN ('delivered', 'digested', 'dead');
--> statement-breakpoint
-- What the retention may forget: certificates of runs without entries, and runs that published nothing, before a run that
-- the ledger names.
DROP TRIGGER walks_no_delete;
--> statement-breakpoint
CREATE TRIGGER walks_no_delete BEFORE DELETE ON walks
WHEN NOT EXISTS (
  SELECT 1 FROM runs r JOIN ledger_meta m ON m.name = 'kept_from_run'
  WHERE r.run_key = old.run_key AND r.run_key < CAST(m.value AS INTEGER) AND r.entries = 0)
BEGIN SELECT RAISE(ABORT, 'certificates are kept'); END;
--> statement-breakpoint
DROP TRIGGER runs_no_delete;
--> statement-breakpoint
CREATE TRIGGER runs_no_delete BEFORE DELETE ON runs
WHEN old.applied_seq IS NOT NULL OR old.status = 'running' OR NOT EXISTS (
  SELECT 1 FROM ledger_meta m WHERE m.name = 'kept_from_run' AND old.run_key < CAST(m.value AS INTEGER))
BEGIN SELECT RAISE(ABORT, 'runs are kept'); END;
--> statement-breakpoint
CREATE TABLE tenant_names (
  tenant_key integer NOT NULL,
  after_seq integer NOT NULL,
  display_name text,
  external_ref text,
  labels text NOT NULL,
  recorded_at text NOT NULL,
  PRIMARY KEY(tenant_key, after_seq),
  FOREIGN KEY (tenant_key) REFERENCES tenants(tenant_key) ON UPDATE no action ON DELETE no action
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE rate_cards (
  card_key integer PRIMARY KEY NOT NULL,
  name text NOT NULL,
  currency text NOT NULL,
  digest text NOT NULL,
  definition text NOT NULL,
  source text NOT NULL,
  recorded_at text NOT NULL,
  after_seq integer NOT NULL,
  retired_at text,
  retired_after_seq integer
) STRICT;
--> statement-breakpoint
CREATE TABLE charges (
  period_key integer NOT NULL,
  tenant_key integer NOT NULL,
  card_key integer NOT NULL,
  credits_used integer NOT NULL,
  amount_minor integer,
  PRIMARY KEY(period_key, tenant_key)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE charge_lines (
  period_key integer NOT NULL,
  tenant_key integer NOT NULL,
  line_number integer NOT NULL,
  kind text NOT NULL,
  tier integer,
  credits integer,
  unit_credits integer,
  unit_price text,
  amount_minor integer NOT NULL,
  PRIMARY KEY(period_key, tenant_key, line_number)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE charge_corrections (
  booked_period_key integer NOT NULL,
  tenant_key integer NOT NULL,
  adjustment_id integer NOT NULL,
  card_key integer NOT NULL,
  corrects_period_key integer NOT NULL,
  credits_delta integer NOT NULL,
  amount_minor integer,
  PRIMARY KEY(booked_period_key, tenant_key, adjustment_id)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX charge_corrections_by_key ON charge_corrections (corrects_period_key, tenant_key);
--> statement-breakpoint
CREATE TABLE close_commitments (
  event_seq integer PRIMARY KEY NOT NULL,
  leaves integer NOT NULL,
  root text NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TRIGGER close_commitments_no_update BEFORE UPDATE ON close_commitments BEGIN SELECT RAISE(ABORT, 'close_commitments is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER close_commitments_no_delete BEFORE DELETE ON close_commitments BEGIN SELECT RAISE(ABORT, 'close_commitments is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER charge_corrections_no_update BEFORE UPDATE ON charge_corrections BEGIN SELECT RAISE(ABORT, 'charge_corrections is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER charge_corrections_no_delete BEFORE DELETE ON charge_corrections BEGIN SELECT RAISE(ABORT, 'charge_corrections is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER rate_cards_keep_what_they_say BEFORE UPDATE OF name, currency, digest, definition, source, recorded_at, after_seq ON rate_cards BEGIN SELECT RAISE(ABORT, 'a rate card never changes'); END;
--> statement-breakpoint
CREATE TRIGGER rate_cards_no_delete BEFORE DELETE ON rate_cards BEGIN SELECT RAISE(ABORT, 'rate cards are retired, not deleted'); END;
--> statement-breakpoint
CREATE TRIGGER charges_of_closed_stay BEFORE DELETE ON charges WHEN (SELECT closed_seq FROM periods WHERE period_key = old.period_key) IS NOT NULL BEGIN SELECT RAISE(ABORT, 'charges of a closed period never change'); END;
--> statement-breakpoint
CREATE TRIGGER charge_lines_of_closed_stay BEFORE DELETE ON charge_lines WHEN (SELECT closed_seq FROM periods WHERE period_key = old.period_key) IS NOT NULL BEGIN SELECT RAISE(ABORT, 'charges of a closed period never change'); END;
--> statement-breakpoint
CREATE TRIGGER charges_no_update BEFORE UPDATE ON charges BEGIN SELECT RAISE(ABORT, 'charges are written anew, not changed'); END;
--> statement-breakpoint
CREATE TRIGGER charge_lines_no_update BEFORE UPDATE ON charge_lines BEGIN SELECT RAISE(ABORT, 'charges are written anew, not changed'); END;
--> statement-breakpoint
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('tenant_names', 'tenant_names', '100000 1 1'),
  ('rate_cards', NULL, '20'),
  ('charges', 'charges', '2400000 5000 1'),
  ('charge_lines', 'charge_lines', '4800000 10000 2 1'),
  ('charge_corrections', 'charge_corrections', '10000 50 2 1'),
  ('charge_corrections', 'charge_corrections_by_key', '10000 50 2');
--> statement-breakpoint
ANALYZE sqlite_schema;
--> statement-breakpoint
-- What had been read of a workspace by a moment, for the curves of its tenants.
CREATE INDEX `runs_by_time` ON `runs` (`workspace_key`,`finished_at`) WHERE applied_seq IS NOT NULL;
--> statement-breakpoint
-- What can mute an alert or change an amount leaves a mark of each change, which the digest of the next run covers. Only a
-- connection of this program has the function `row_digest`.
CREATE TABLE `row_changes` (
  `change_seq` integer PRIMARY KEY NOT NULL,
  `table_name` text NOT NULL,
  `row_key` text NOT NULL,
  `row_digest` blob
) STRICT;
--> statement-breakpoint
CREATE INDEX `row_changes_by_row` ON `row_changes` (`table_name`,`row_key`);
--> statement-breakpoint
CREATE TRIGGER row_changes_no_update BEFORE UPDATE ON row_changes BEGIN SELECT RAISE(ABORT, 'row_changes is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER row_changes_no_delete BEFORE DELETE ON row_changes BEGIN SELECT RAISE(ABORT, 'row_changes is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER silences_guard_insert AFTER INSERT ON silences BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('silences', NEW.silence_key, row_digest(json_array(NEW.silence_id, NEW.kind, NEW.workspace_key, NEW.rule, NEW.tenant, NEW.period, NEW.up_to_credits, NEW.until, NEW.reason, NEW.created_by, NEW.created_at, NEW.ended_at, NEW.ended_by)));
END;
--> statement-breakpoint
CREATE TRIGGER silences_guard_update AFTER UPDATE OF silence_id, kind, workspace_key, rule, tenant, period, up_to_credits, until, reason, created_by, created_at, ended_at, ended_by ON silences
WHEN json_array(OLD.silence_id, OLD.kind, OLD.workspace_key, OLD.rule, OLD.tenant, OLD.period, OLD.up_to_credits, OLD.until, OLD.reason, OLD.created_by, OLD.created_at, OLD.ended_at, OLD.ended_by)
  <> json_array(NEW.silence_id, NEW.kind, NEW.workspace_key, NEW.rule, NEW.tenant, NEW.period, NEW.up_to_credits, NEW.until, NEW.reason, NEW.created_by, NEW.created_at, NEW.ended_at, NEW.ended_by) BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('silences', NEW.silence_key, row_digest(json_array(NEW.silence_id, NEW.kind, NEW.workspace_key, NEW.rule, NEW.tenant, NEW.period, NEW.up_to_credits, NEW.until, NEW.reason, NEW.created_by, NEW.created_at, NEW.ended_at, NEW.ended_by)));
END;
--> statement-breakpoint
CREATE TRIGGER silences_guard_delete AFTER DELETE ON silences BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('silences', OLD.silence_key, NULL);
END;
--> statement-breakpoint
CREATE TRIGGER channel_states_guard_insert AFTER INSERT ON channel_states BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('channel_states', NEW.name, row_digest(json_array(NEW.disabled_at, NEW.reason)));
END;
--> statement-breakpoint
CREATE TRIGGER channel_states_guard_update AFTER UPDATE OF disabled_at, reason ON channel_states
WHEN json_array(OLD.disabled_at, OLD.reason)
  <> json_array(NEW.disabled_at, NEW.reason) BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('channel_states', NEW.name, row_digest(json_array(NEW.disabled_at, NEW.reason)));
END;
--> statement-breakpoint
CREATE TRIGGER channel_states_guard_delete AFTER DELETE ON channel_states BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('channel_states', OLD.name, NULL);
END;
--> statement-breakpoint
CREATE TRIGGER alerts_guard_insert AFTER INSERT ON alerts BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('alerts', NEW.alert_key, row_digest(json_array(NEW.alert_id, NEW.rule, NEW.workspace_key, NEW.tenant_key, NEW.period_key, NEW.stage, NEW.severity, NEW.state, NEW.first_fired_at, NEW.revision, NEW.level, NEW.notified_measure, NEW.incident_key, NEW.detail)));
END;
--> statement-breakpoint
CREATE TRIGGER alerts_guard_update AFTER UPDATE OF alert_id, rule, workspace_key, tenant_key, period_key, stage, severity, state, first_fired_at, revision, level, notified_measure, incident_key, detail ON alerts
WHEN json_array(OLD.alert_id, OLD.rule, OLD.workspace_key, OLD.tenant_key, OLD.period_key, OLD.stage, OLD.severity, OLD.state, OLD.first_fired_at, OLD.revision, OLD.level, OLD.notified_measure, OLD.incident_key, OLD.detail)
  <> json_array(NEW.alert_id, NEW.rule, NEW.workspace_key, NEW.tenant_key, NEW.period_key, NEW.stage, NEW.severity, NEW.state, NEW.first_fired_at, NEW.revision, NEW.level, NEW.notified_measure, NEW.incident_key, NEW.detail) BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('alerts', NEW.alert_key, row_digest(json_array(NEW.alert_id, NEW.rule, NEW.workspace_key, NEW.tenant_key, NEW.period_key, NEW.stage, NEW.severity, NEW.state, NEW.first_fired_at, NEW.revision, NEW.level, NEW.notified_measure, NEW.incident_key, NEW.detail)));
END;
--> statement-breakpoint
CREATE TRIGGER alerts_guard_delete AFTER DELETE ON alerts BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('alerts', OLD.alert_key, NULL);
END;
--> statement-breakpoint
CREATE TRIGGER alert_transitions_guard_insert AFTER INSERT ON alert_transitions BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('alert_transitions', NEW.alert_key || ':' || NEW.revision, row_digest(json_array(NEW.change, NEW.state, NEW.stage, NEW.run_key, NEW.actor, NEW.at, NEW.current_credits, NEW.silent, NEW.silent_because, NEW.note, NEW.evidence)));
END;
--> statement-breakpoint
CREATE TRIGGER alert_transitions_guard_update AFTER UPDATE OF change, state, stage, run_key, actor, at, current_credits, silent, silent_because, note, evidence ON alert_transitions
WHEN json_array(OLD.change, OLD.state, OLD.stage, OLD.run_key, OLD.actor, OLD.at, OLD.current_credits, OLD.silent, OLD.silent_because, OLD.note, OLD.evidence)
  <> json_array(NEW.change, NEW.state, NEW.stage, NEW.run_key, NEW.actor, NEW.at, NEW.current_credits, NEW.silent, NEW.silent_because, NEW.note, NEW.evidence) BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('alert_transitions', NEW.alert_key || ':' || NEW.revision, row_digest(json_array(NEW.change, NEW.state, NEW.stage, NEW.run_key, NEW.actor, NEW.at, NEW.current_credits, NEW.silent, NEW.silent_because, NEW.note, NEW.evidence)));
END;
--> statement-breakpoint
CREATE TRIGGER alert_transitions_guard_delete AFTER DELETE ON alert_transitions BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('alert_transitions', OLD.alert_key || ':' || OLD.revision, NULL);
END;
--> statement-breakpoint
CREATE TRIGGER alert_feedback_guard_insert AFTER INSERT ON alert_feedback BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('alert_feedback', NEW.feedback_key, row_digest(json_array(NEW.alert_key, NEW.label, NEW.note, NEW.actor, NEW.at)));
END;
--> statement-breakpoint
CREATE TRIGGER alert_feedback_guard_update AFTER UPDATE OF alert_key, label, note, actor, at ON alert_feedback
WHEN json_array(OLD.alert_key, OLD.label, OLD.note, OLD.actor, OLD.at)
  <> json_array(NEW.alert_key, NEW.label, NEW.note, NEW.actor, NEW.at) BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('alert_feedback', NEW.feedback_key, row_digest(json_array(NEW.alert_key, NEW.label, NEW.note, NEW.actor, NEW.at)));
END;
--> statement-breakpoint
CREATE TRIGGER alert_feedback_guard_delete AFTER DELETE ON alert_feedback BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('alert_feedback', OLD.feedback_key, NULL);
END;
--> statement-breakpoint
CREATE TRIGGER outbox_guard_insert AFTER INSERT ON outbox BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('outbox', NEW.notification_id, row_digest(json_array(NEW.alert_key, NEW.revision, NEW.channel, NEW.payload, NEW.state, NEW.attempts, NEW.attempts_before, NEW.created_at, NEW.next_attempt_at, NEW.delivered_at, NEW.last_error, NEW.digest_at, NEW.digest_id)));
END;
--> statement-breakpoint
CREATE TRIGGER outbox_guard_update AFTER UPDATE OF alert_key, revision, channel, payload, state, attempts, attempts_before, created_at, next_attempt_at, delivered_at, last_error, digest_at, digest_id ON outbox
WHEN json_array(OLD.alert_key, OLD.revision, OLD.channel, OLD.payload, OLD.state, OLD.attempts, OLD.attempts_before, OLD.created_at, OLD.next_attempt_at, OLD.delivered_at, OLD.last_error, OLD.digest_at, OLD.digest_id)
  <> json_array(NEW.alert_key, NEW.revision, NEW.channel, NEW.payload, NEW.state, NEW.attempts, NEW.attempts_before, NEW.created_at, NEW.next_attempt_at, NEW.delivered_at, NEW.last_error, NEW.digest_at, NEW.digest_id) BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('outbox', NEW.notification_id, row_digest(json_array(NEW.alert_key, NEW.revision, NEW.channel, NEW.payload, NEW.state, NEW.attempts, NEW.attempts_before, NEW.created_at, NEW.next_attempt_at, NEW.delivered_at, NEW.last_error, NEW.digest_at, NEW.digest_id)));
END;
--> statement-breakpoint
CREATE TRIGGER outbox_guard_delete AFTER DELETE ON outbox BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('outbox', OLD.notification_id, NULL);
END;
--> statement-breakpoint
CREATE TRIGGER rate_cards_guard_insert AFTER INSERT ON rate_cards BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('rate_cards', NEW.card_key, row_digest(json_array(NEW.name, NEW.currency, NEW.digest, NEW.definition, NEW.source, NEW.recorded_at, NEW.after_seq, NEW.retired_at, NEW.retired_after_seq)));
END;
--> statement-breakpoint
CREATE TRIGGER rate_cards_guard_update AFTER UPDATE OF name, currency, digest, definition, source, recorded_at, after_seq, retired_at, retired_after_seq ON rate_cards
WHEN json_array(OLD.name, OLD.currency, OLD.digest, OLD.definition, OLD.source, OLD.recorded_at, OLD.after_seq, OLD.retired_at, OLD.retired_after_seq)
  <> json_array(NEW.name, NEW.currency, NEW.digest, NEW.definition, NEW.source, NEW.recorded_at, NEW.after_seq, NEW.retired_at, NEW.retired_after_seq) BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('rate_cards', NEW.card_key, row_digest(json_array(NEW.name, NEW.currency, NEW.digest, NEW.definition, NEW.source, NEW.recorded_at, NEW.after_seq, NEW.retired_at, NEW.retired_after_seq)));
END;
--> statement-breakpoint
CREATE TRIGGER rate_cards_guard_delete AFTER DELETE ON rate_cards BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('rate_cards', OLD.card_key, NULL);
END;
--> statement-breakpoint
CREATE TRIGGER tenant_names_guard_insert AFTER INSERT ON tenant_names BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('tenant_names', NEW.tenant_key || ':' || NEW.after_seq, row_digest(json_array(NEW.display_name, NEW.external_ref, NEW.labels, NEW.recorded_at)));
END;
--> statement-breakpoint
CREATE TRIGGER tenant_names_guard_update AFTER UPDATE OF display_name, external_ref, labels, recorded_at ON tenant_names
WHEN json_array(OLD.display_name, OLD.external_ref, OLD.labels, OLD.recorded_at)
  <> json_array(NEW.display_name, NEW.external_ref, NEW.labels, NEW.recorded_at) BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('tenant_names', NEW.tenant_key || ':' || NEW.after_seq, row_digest(json_array(NEW.display_name, NEW.external_ref, NEW.labels, NEW.recorded_at)));
END;
--> statement-breakpoint
CREATE TRIGGER tenant_names_guard_delete AFTER DELETE ON tenant_names BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('tenant_names', OLD.tenant_key || ':' || OLD.after_seq, NULL);
END;
--> statement-breakpoint
INSERT INTO row_changes (table_name, row_key, row_digest)
SELECT 'silences', silences.silence_key, row_digest(json_array(silences.silence_id, silences.kind, silences.workspace_key, silences.rule, silences.tenant, silences.period, silences.up_to_credits, silences.until, silences.reason, silences.created_by, silences.created_at, silences.ended_at, silences.ended_by))
FROM silences;
--> statement-breakpoint
INSERT INTO row_changes (table_name, row_key, row_digest)
SELECT 'channel_states', channel_states.name, row_digest(json_array(channel_states.disabled_at, channel_states.reason))
FROM channel_states;
--> statement-breakpoint
INSERT INTO row_changes (table_name, row_key, row_digest)
SELECT 'alerts', alerts.alert_key, row_digest(json_array(alerts.alert_id, alerts.rule, alerts.workspace_key, alerts.tenant_key, alerts.period_key, alerts.stage, alerts.severity, alerts.state, alerts.first_fired_at, alerts.revision, alerts.level, alerts.notified_measure, alerts.incident_key, alerts.detail))
FROM alerts;
--> statement-breakpoint
INSERT INTO row_changes (table_name, row_key, row_digest)
SELECT 'alert_transitions', alert_transitions.alert_key || ':' || alert_transitions.revision, row_digest(json_array(alert_transitions.change, alert_transitions.state, alert_transitions.stage, alert_transitions.run_key, alert_transitions.actor, alert_transitions.at, alert_transitions.current_credits, alert_transitions.silent, alert_transitions.silent_because, alert_transitions.note, alert_transitions.evidence))
FROM alert_transitions;
--> statement-breakpoint
INSERT INTO row_changes (table_name, row_key, row_digest)
SELECT 'alert_feedback', alert_feedback.feedback_key, row_digest(json_array(alert_feedback.alert_key, alert_feedback.label, alert_feedback.note, alert_feedback.actor, alert_feedback.at))
FROM alert_feedback;
--> statement-breakpoint
INSERT INTO row_changes (table_name, row_key, row_digest)
SELECT 'outbox', outbox.notification_id, row_digest(json_array(outbox.alert_key, outbox.revision, outbox.channel, outbox.payload, outbox.state, outbox.attempts, outbox.attempts_before, outbox.created_at, outbox.next_attempt_at, outbox.delivered_at, outbox.last_error, outbox.digest_at, outbox.digest_id))
FROM outbox;
--> statement-breakpoint
INSERT INTO row_changes (table_name, row_key, row_digest)
SELECT 'rate_cards', rate_cards.card_key, row_digest(json_array(rate_cards.name, rate_cards.currency, rate_cards.digest, rate_cards.definition, rate_cards.source, rate_cards.recorded_at, rate_cards.after_seq, rate_cards.retired_at, rate_cards.retired_after_seq))
FROM rate_cards;
--> statement-breakpoint
INSERT INTO row_changes (table_name, row_key, row_digest)
SELECT 'tenant_names', tenant_names.tenant_key || ':' || tenant_names.after_seq, row_digest(json_array(tenant_names.display_name, tenant_names.external_ref, tenant_names.labels, tenant_names.recorded_at))
FROM tenant_names;
--> statement-breakpoint
-- The changes up to this one are part of the run's digest; null in runs older than it.
ALTER TABLE runs ADD `last_change_seq` integer;
--> statement-breakpoint
-- Bounds are those of the calendar month in UTC, whatever the service wrote beside its label.
UPDATE periods SET period_start = period || '-01T00:00:00.000Z',
  period_end = coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', period || '-01', '+1 month', '-1 second'), period_end);
