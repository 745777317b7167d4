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
-- The changes up to this one are part of the run's digest; null in runs older than it.
ALTER TABLE runs ADD `last_change_seq` integer;
--> statement-breakpoint
-- Bounds are those of the calendar month in UTC, whatever the service wrote beside its label.
UPDATE periods SET period_start = period || '-01T00:00:00.000Z',
  period_end = coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', period || '-01', '+1 month', '-1 second'), period_end);
