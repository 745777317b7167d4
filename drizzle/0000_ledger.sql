CREATE TABLE ledger_meta (
  name text PRIMARY KEY NOT NULL,
  value text NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE workspaces (
  workspace_key integer PRIMARY KEY NOT NULL,
  workspace_id text NOT NULL,
  name text NOT NULL,
  first_run_key integer,
  ended_seq integer
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX workspaces_workspace_id_unique ON workspaces (workspace_id);
--> statement-breakpoint
CREATE TABLE tenants (
  tenant_key integer PRIMARY KEY NOT NULL,
  workspace_key integer NOT NULL,
  tenant_id text NOT NULL,
  FOREIGN KEY (workspace_key) REFERENCES workspaces (workspace_key)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX tenants_by_id ON tenants (workspace_key, tenant_id);
--> statement-breakpoint
CREATE TABLE tenant_names (
  tenant_key integer NOT NULL,
  after_seq integer NOT NULL,
  display_name text,
  external_ref text,
  labels text NOT NULL,
  recorded_at text NOT NULL,
  PRIMARY KEY (tenant_key, after_seq),
  FOREIGN KEY (tenant_key) REFERENCES tenants (tenant_key)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE periods (
  period_key integer PRIMARY KEY NOT NULL,
  workspace_key integer NOT NULL,
  period text NOT NULL,
  period_start text NOT NULL,
  period_end text NOT NULL,
  covered_run_key integer,
  final_run_key integer,
  closed_seq integer,
  unsteady_run_key integer,
  figures_digest blob,
  FOREIGN KEY (workspace_key) REFERENCES workspaces (workspace_key)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX periods_by_name ON periods (workspace_key, period);
--> statement-breakpoint
CREATE TABLE acts (
  act_seq integer PRIMARY KEY NOT NULL,
  workspace_key integer NOT NULL,
  action text NOT NULL,
  at text NOT NULL,
  actor text NOT NULL,
  note text NOT NULL,
  previous_digest text NOT NULL,
  digest text NOT NULL,
  last_change_seq integer NOT NULL,
  FOREIGN KEY (workspace_key) REFERENCES workspaces (workspace_key)
) STRICT;
--> statement-breakpoint
CREATE INDEX acts_by_workspace ON acts (workspace_key);
--> statement-breakpoint
CREATE TRIGGER acts_no_update BEFORE UPDATE ON acts
BEGIN SELECT RAISE(ABORT, 'acts is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER acts_no_delete BEFORE DELETE ON acts
BEGIN SELECT RAISE(ABORT, 'acts is append-only'); END;
--> statement-breakpoint
CREATE TABLE runs (
  run_key integer PRIMARY KEY NOT NULL,
  run_id text NOT NULL,
  workspace_key integer NOT NULL,
  kind text NOT NULL,
  slot text,
  status text NOT NULL,
  fencing_token integer NOT NULL,
  from_period text,
  to_period text,
  started_at text NOT NULL,
  finished_at text,
  pages integer NOT NULL DEFAULT 0,
  records integer NOT NULL DEFAULT 0,
  entries integer NOT NULL DEFAULT 0,
  first_entry_id integer,
  applied_seq integer,
  previous_digest text,
  digest text,
  error_code text,
  error_message text,
  last_change_seq integer,
  FOREIGN KEY (workspace_key) REFERENCES workspaces (workspace_key)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX runs_run_id_unique ON runs (run_id);
--> statement-breakpoint
CREATE UNIQUE INDEX runs_applied_seq_unique ON runs (applied_seq);
--> statement-breakpoint
CREATE INDEX runs_by_workspace ON runs (workspace_key, run_key);
--> statement-breakpoint
CREATE INDEX runs_by_time ON runs (workspace_key, finished_at) WHERE applied_seq IS NOT NULL;
--> statement-breakpoint
CREATE TRIGGER runs_published_no_update BEFORE UPDATE ON runs WHEN old.applied_seq IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a published run never changes'); END;
--> statement-breakpoint
CREATE TRIGGER runs_no_delete BEFORE DELETE ON runs
WHEN old.applied_seq IS NOT NULL OR old.status = 'running' OR NOT EXISTS (
  SELECT 1 FROM ledger_meta m WHERE m.name = 'kept_from_run' AND old.run_key < CAST(m.value AS INTEGER))
BEGIN SELECT RAISE(ABORT, 'runs are kept'); END;
--> statement-breakpoint
CREATE TABLE walks (
  run_key integer NOT NULL,
  walk_number integer NOT NULL,
  started_at text NOT NULL,
  finished_at text NOT NULL,
  pages integer NOT NULL,
  records integer NOT NULL,
  distinct_keys integer NOT NULL,
  total_records integer NOT NULL,
  total_pages integer NOT NULL,
  key_set_digest text NOT NULL,
  content_digest text NOT NULL,
  verdict text NOT NULL,
  signs text NOT NULL,
  PRIMARY KEY (run_key, walk_number),
  FOREIGN KEY (run_key) REFERENCES runs (run_key)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TRIGGER walks_no_update BEFORE UPDATE ON walks
BEGIN SELECT RAISE(ABORT, 'walks is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER walks_no_delete BEFORE DELETE ON walks
WHEN NOT EXISTS (
  SELECT 1 FROM runs r JOIN ledger_meta m ON m.name = 'kept_from_run'
  WHERE r.run_key = old.run_key AND r.run_key < CAST(m.value AS INTEGER) AND r.entries = 0)
BEGIN SELECT RAISE(ABORT, 'certificates are kept'); END;
--> statement-breakpoint
CREATE TABLE leases (
  workspace_key integer PRIMARY KEY NOT NULL,
  fencing_token integer NOT NULL,
  run_key integer NOT NULL,
  holder_host text NOT NULL,
  holder_pid integer NOT NULL,
  expires_at text NOT NULL,
  released integer NOT NULL DEFAULT 0,
  holder_start text,
  FOREIGN KEY (workspace_key) REFERENCES workspaces (workspace_key)
) STRICT;
--> statement-breakpoint
CREATE INDEX leases_held ON leases (expires_at) WHERE released = 0;
--> statement-breakpoint
CREATE TRIGGER leases_token_increases BEFORE UPDATE ON leases WHEN new.fencing_token < old.fencing_token
BEGIN SELECT RAISE(ABORT, 'a fencing token never decreases'); END;
--> statement-breakpoint
CREATE TABLE tenant_usage (
  period_key integer NOT NULL,
  tenant_key integer NOT NULL,
  credits_used integer NOT NULL,
  request_count integer NOT NULL,
  withdrawn integer NOT NULL,
  first_run_key integer NOT NULL,
  changed_run_key integer NOT NULL,
  PRIMARY KEY (period_key, tenant_key)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE usage_entries (
  entry_id integer PRIMARY KEY NOT NULL,
  run_key integer NOT NULL,
  period_key integer NOT NULL,
  tenant_key integer NOT NULL,
  kind integer NOT NULL,
  credits_delta integer NOT NULL,
  requests_delta integer NOT NULL,
  credits_after integer NOT NULL,
  requests_after integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX usage_entries_by_key ON usage_entries (period_key, tenant_key);
--> statement-breakpoint
CREATE TRIGGER usage_entries_no_update BEFORE UPDATE ON usage_entries
BEGIN SELECT RAISE(ABORT, 'usage_entries is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER usage_entries_no_delete BEFORE DELETE ON usage_entries
BEGIN SELECT RAISE(ABORT, 'usage_entries is append-only'); END;
--> statement-breakpoint
CREATE TABLE known_listings (
  workspace_key integer PRIMARY KEY NOT NULL,
  from_period text,
  to_period text,
  page_digests blob NOT NULL,
  FOREIGN KEY (workspace_key) REFERENCES workspaces (workspace_key)
) STRICT;
--> statement-breakpoint
CREATE TABLE absences (
  period_key integer NOT NULL,
  tenant_key integer NOT NULL,
  run_key integer NOT NULL,
  PRIMARY KEY (period_key, tenant_key),
  FOREIGN KEY (run_key) REFERENCES runs (run_key)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE row_changes (
  change_seq integer PRIMARY KEY NOT NULL,
  table_name text NOT NULL,
  row_key text NOT NULL,
  row_digest blob
) STRICT;
--> statement-breakpoint
CREATE INDEX row_changes_by_row ON row_changes (table_name, row_key);
--> statement-breakpoint
CREATE TRIGGER row_changes_no_update BEFORE UPDATE ON row_changes
BEGIN SELECT RAISE(ABORT, 'row_changes is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER row_changes_no_delete BEFORE DELETE ON row_changes
BEGIN SELECT RAISE(ABORT, 'row_changes is append-only'); END;
--> statement-breakpoint
CREATE TABLE period_events (
  event_seq integer PRIMARY KEY NOT NULL,
  workspace_key integer NOT NULL,
  period_key integer NOT NULL,
  action text NOT NULL,
  at text NOT NULL,
  actor text NOT NULL,
  note text NOT NULL,
  forced integer NOT NULL,
  overridden text NOT NULL,
  tenants integer NOT NULL,
  credits_used integer NOT NULL,
  request_count integer NOT NULL,
  last_entry_id integer NOT NULL,
  previous_digest text NOT NULL,
  digest text NOT NULL,
  system_user text NOT NULL,
  FOREIGN KEY (workspace_key) REFERENCES workspaces (workspace_key),
  FOREIGN KEY (period_key) REFERENCES periods (period_key)
) STRICT;
--> statement-breakpoint
CREATE TRIGGER period_events_no_update BEFORE UPDATE ON period_events
BEGIN SELECT RAISE(ABORT, 'period_events is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER period_events_no_delete BEFORE DELETE ON period_events
BEGIN SELECT RAISE(ABORT, 'period_events is append-only'); END;
--> statement-breakpoint
CREATE TABLE closed_usage (
  period_key integer NOT NULL,
  tenant_key integer NOT NULL,
  credits_used integer NOT NULL,
  request_count integer NOT NULL,
  withdrawn integer NOT NULL,
  first_run_key integer NOT NULL,
  changed_run_key integer NOT NULL,
  PRIMARY KEY (period_key, tenant_key)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TRIGGER closed_usage_no_update BEFORE UPDATE ON closed_usage
BEGIN SELECT RAISE(ABORT, 'closed figures never change'); END;
--> statement-breakpoint
CREATE TABLE adjustments (
  adjustment_id integer PRIMARY KEY NOT NULL,
  corrects_period_key integer NOT NULL,
  tenant_key integer NOT NULL,
  booked_period_key integer NOT NULL,
  credits_delta integer NOT NULL,
  requests_delta integer NOT NULL,
  recorded_at text NOT NULL,
  run_key integer,
  entry_id integer,
  event_seq integer,
  FOREIGN KEY (corrects_period_key) REFERENCES periods (period_key),
  FOREIGN KEY (tenant_key) REFERENCES tenants (tenant_key),
  FOREIGN KEY (booked_period_key) REFERENCES periods (period_key),
  FOREIGN KEY (run_key) REFERENCES runs (run_key)
) STRICT;
--> statement-breakpoint
CREATE INDEX adjustments_by_key ON adjustments (corrects_period_key, tenant_key);
--> statement-breakpoint
CREATE INDEX adjustments_by_booking ON adjustments (booked_period_key);
--> statement-breakpoint
CREATE INDEX adjustments_by_run ON adjustments (run_key);
--> statement-breakpoint
CREATE INDEX adjustments_by_event ON adjustments (event_seq);
--> statement-breakpoint
CREATE TRIGGER adjustments_no_update BEFORE UPDATE ON adjustments
BEGIN SELECT RAISE(ABORT, 'adjustments is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER adjustments_no_delete BEFORE DELETE ON adjustments
BEGIN SELECT RAISE(ABORT, 'adjustments is append-only'); END;
--> statement-breakpoint
CREATE TABLE close_commitments (
  event_seq integer PRIMARY KEY NOT NULL,
  leaves integer NOT NULL,
  root text NOT NULL,
  salt text NOT NULL,
  number_form text,
  last_number integer,
  letterhead text
) STRICT;
--> statement-breakpoint
CREATE TRIGGER close_commitments_no_update BEFORE UPDATE ON close_commitments
BEGIN SELECT RAISE(ABORT, 'close_commitments is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER close_commitments_no_delete BEFORE DELETE ON close_commitments
BEGIN SELECT RAISE(ABORT, 'close_commitments is append-only'); END;
--> statement-breakpoint
CREATE TABLE letterheads (
  sha256 text PRIMARY KEY NOT NULL,
  content text NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE statement_numbers (
  close_seq integer NOT NULL,
  tenant_key integer NOT NULL,
  period_key integer NOT NULL,
  number text NOT NULL,
  PRIMARY KEY (close_seq, tenant_key),
  FOREIGN KEY (tenant_key) REFERENCES tenants (tenant_key)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX statement_numbers_by_number ON statement_numbers (number);
--> statement-breakpoint
CREATE TRIGGER statement_numbers_no_update BEFORE UPDATE ON statement_numbers
BEGIN SELECT RAISE(ABORT, 'statement_numbers is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER statement_numbers_no_delete BEFORE DELETE ON statement_numbers
BEGIN SELECT RAISE(ABORT, 'statement_numbers is append-only'); END;
--> statement-breakpoint
CREATE TABLE reconciliations (
  act_seq integer PRIMARY KEY NOT NULL,
  period_key integer NOT NULL,
  close_seq integer NOT NULL,
  file_name text NOT NULL,
  file_sha256 text NOT NULL,
  matched integer NOT NULL,
  missing integer NOT NULL,
  extra integer NOT NULL,
  different integer NOT NULL,
  tolerance text NOT NULL,
  amounts text NOT NULL,
  FOREIGN KEY (period_key) REFERENCES periods (period_key),
  FOREIGN KEY (close_seq) REFERENCES period_events (event_seq)
) STRICT;
--> statement-breakpoint
CREATE INDEX reconciliations_by_close ON reconciliations (close_seq);
--> statement-breakpoint
CREATE TRIGGER reconciliations_no_update BEFORE UPDATE ON reconciliations
BEGIN SELECT RAISE(ABORT, 'reconciliations is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER reconciliations_no_delete BEFORE DELETE ON reconciliations
BEGIN SELECT RAISE(ABORT, 'reconciliations is append-only'); END;
--> statement-breakpoint
CREATE TABLE invoice_numbers (
  act_seq integer NOT NULL,
  tenant_key integer NOT NULL,
  currency text NOT NULL,
  period_key integer NOT NULL,
  close_seq integer NOT NULL,
  number text NOT NULL,
  PRIMARY KEY (act_seq, tenant_key, currency),
  FOREIGN KEY (tenant_key) REFERENCES tenants (tenant_key)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX invoice_numbers_by_close ON invoice_numbers (close_seq, tenant_key, currency);
--> statement-breakpoint
CREATE TRIGGER invoice_numbers_no_update BEFORE UPDATE ON invoice_numbers
BEGIN SELECT RAISE(ABORT, 'invoice_numbers is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER invoice_numbers_no_delete BEFORE DELETE ON invoice_numbers
BEGIN SELECT RAISE(ABORT, 'invoice_numbers is append-only'); END;
--> statement-breakpoint
CREATE TABLE alerts (
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
  notified_count integer NOT NULL DEFAULT 0,
  magnitude integer,
  pending_since text,
  clear_run_key integer,
  detail text,
  episode integer NOT NULL DEFAULT 0,
  began_at text,
  basis text,
  FOREIGN KEY (workspace_key) REFERENCES workspaces (workspace_key),
  FOREIGN KEY (tenant_key) REFERENCES tenants (tenant_key),
  FOREIGN KEY (period_key) REFERENCES periods (period_key)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX alerts_alert_id_unique ON alerts (alert_id);
--> statement-breakpoint
CREATE UNIQUE INDEX alerts_by_subject ON alerts (rule, coalesce(workspace_key, 0), coalesce(period_key, 0), coalesce(tenant_key, 0), coalesce(cause, ''));
--> statement-breakpoint
CREATE INDEX alerts_by_workspace ON alerts (workspace_key);
--> statement-breakpoint
CREATE INDEX alerts_open ON alerts (workspace_key) WHERE state IN ('pending', 'firing', 'acknowledged');
--> statement-breakpoint
CREATE TABLE alert_transitions (
  alert_key integer NOT NULL,
  revision integer NOT NULL,
  change text NOT NULL,
  state text NOT NULL,
  level text NOT NULL,
  run_key integer,
  actor text NOT NULL,
  at text NOT NULL,
  current_credits integer,
  silent integer NOT NULL,
  silent_because text,
  note text,
  evidence text,
  PRIMARY KEY (alert_key, revision),
  FOREIGN KEY (alert_key) REFERENCES alerts (alert_key)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TRIGGER alert_transitions_no_delete BEFORE DELETE ON alert_transitions
BEGIN SELECT RAISE(ABORT, 'alert_transitions is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER alert_transitions_no_update BEFORE UPDATE ON alert_transitions
BEGIN SELECT RAISE(ABORT, 'alert_transitions is append-only'); END;
--> statement-breakpoint
CREATE TABLE alert_notified (
  alert_key integer NOT NULL,
  channel text NOT NULL,
  event text,
  episode integer,
  level text,
  severity text,
  notified_count integer,
  magnitude integer,
  open integer NOT NULL DEFAULT 0,
  at text,
  at_once integer,
  revision integer NOT NULL DEFAULT 0,
  pending text,
  pending_at text,
  batch text,
  due_at text,
  scheduled_at text,
  failures integer NOT NULL DEFAULT 0,
  given_up integer NOT NULL DEFAULT 0,
  delivery_key integer,
  PRIMARY KEY (alert_key, channel),
  FOREIGN KEY (alert_key) REFERENCES alerts (alert_key),
  FOREIGN KEY (delivery_key) REFERENCES deliveries (delivery_key)
) STRICT;
--> statement-breakpoint
CREATE INDEX alert_notified_due ON alert_notified (due_at, scheduled_at) WHERE due_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX alert_notified_pending ON alert_notified (channel, given_up) WHERE pending IS NOT NULL;
--> statement-breakpoint
CREATE INDEX alert_notified_by_delivery ON alert_notified (delivery_key) WHERE delivery_key IS NOT NULL;
--> statement-breakpoint
CREATE TABLE alert_feedback (
  feedback_key integer PRIMARY KEY NOT NULL,
  alert_key integer NOT NULL,
  label text NOT NULL,
  note text,
  actor text NOT NULL,
  at text NOT NULL,
  FOREIGN KEY (alert_key) REFERENCES alerts (alert_key)
) STRICT;
--> statement-breakpoint
CREATE INDEX alert_feedback_by_alert ON alert_feedback (alert_key);
--> statement-breakpoint
CREATE TRIGGER alert_feedback_no_update BEFORE UPDATE ON alert_feedback
BEGIN SELECT RAISE(ABORT, 'alert_feedback is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER alert_feedback_no_delete BEFORE DELETE ON alert_feedback
BEGIN SELECT RAISE(ABORT, 'alert_feedback is append-only'); END;
--> statement-breakpoint
CREATE TABLE silences (
  silence_key integer PRIMARY KEY NOT NULL,
  silence_id text NOT NULL,
  kind text NOT NULL,
  workspace_key integer,
  rule text NOT NULL,
  tenant text NOT NULL,
  period text NOT NULL,
  up_to_credits integer,
  begins_at text,
  until text NOT NULL,
  weekdays text,
  hours text,
  days_of_month text,
  time_zone text,
  reason text NOT NULL,
  created_by text NOT NULL,
  created_at text NOT NULL,
  ended_at text,
  ended_by text,
  FOREIGN KEY (workspace_key) REFERENCES workspaces (workspace_key)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX silences_silence_id_unique ON silences (silence_id);
--> statement-breakpoint
CREATE TRIGGER silences_no_delete BEFORE DELETE ON silences
BEGIN SELECT RAISE(ABORT, 'silences are ended, not deleted'); END;
--> statement-breakpoint
CREATE TABLE deliveries (
  delivery_key integer PRIMARY KEY NOT NULL,
  notification_id text NOT NULL,
  channel text NOT NULL,
  form text NOT NULL,
  payload text NOT NULL,
  state text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  failures integer NOT NULL DEFAULT 0,
  created_at text NOT NULL,
  due_at text,
  scheduled_at text,
  delivered_at text,
  last_error text
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX deliveries_notification_id_unique ON deliveries (notification_id);
--> statement-breakpoint
CREATE INDEX deliveries_due ON deliveries (due_at, scheduled_at) WHERE due_at IS NOT NULL;
--> statement-breakpoint
CREATE INDEX deliveries_dead ON deliveries (created_at) WHERE state = 'dead';
--> statement-breakpoint
CREATE INDEX deliveries_by_age ON deliveries (created_at);
--> statement-breakpoint
CREATE TABLE delivery_members (
  delivery_key integer NOT NULL,
  alert_key integer NOT NULL,
  revision integer NOT NULL,
  event text NOT NULL,
  episode integer NOT NULL,
  level text NOT NULL,
  severity text NOT NULL,
  notified_count integer NOT NULL,
  magnitude integer,
  PRIMARY KEY (delivery_key, alert_key),
  FOREIGN KEY (delivery_key) REFERENCES deliveries (delivery_key),
  FOREIGN KEY (alert_key) REFERENCES alerts (alert_key)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX delivery_members_by_alert ON delivery_members (alert_key);
--> statement-breakpoint
CREATE TABLE channel_states (
  name text PRIMARY KEY NOT NULL,
  disabled_at text,
  reason text,
  most_bytes integer
) STRICT;
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
  retired_after_seq integer,
  minor_units integer NOT NULL DEFAULT 100,
  side text NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TRIGGER rate_cards_keep_what_they_say BEFORE UPDATE OF name, currency, side, digest, definition, source, recorded_at, after_seq ON rate_cards
BEGIN SELECT RAISE(ABORT, 'a rate card never changes'); END;
--> statement-breakpoint
CREATE TRIGGER rate_cards_no_delete BEFORE DELETE ON rate_cards
BEGIN SELECT RAISE(ABORT, 'rate cards are retired, not deleted'); END;
--> statement-breakpoint
CREATE TABLE budgets (
  workspace_key integer NOT NULL,
  place integer NOT NULL,
  tenant_glob text,
  credits integer,
  amount_minor integer,
  currency text,
  PRIMARY KEY (workspace_key, place),
  FOREIGN KEY (workspace_key) REFERENCES workspaces (workspace_key)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE charges (
  period_key integer NOT NULL,
  tenant_key integer NOT NULL,
  card_key integer NOT NULL,
  credits_used integer NOT NULL,
  amount_minor integer,
  tier integer,
  unit_credits integer,
  unit_price text,
  PRIMARY KEY (period_key, tenant_key)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TRIGGER charges_of_closed_stay BEFORE DELETE ON charges WHEN (SELECT closed_seq FROM periods WHERE period_key = old.period_key) IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'charges of a closed period never change'); END;
--> statement-breakpoint
CREATE TRIGGER charges_no_update BEFORE UPDATE ON charges
BEGIN SELECT RAISE(ABORT, 'charges are written anew, not changed'); END;
--> statement-breakpoint
CREATE TABLE costs (
  period_key integer NOT NULL,
  tenant_key integer NOT NULL,
  card_key integer NOT NULL,
  amount_minor integer,
  PRIMARY KEY (period_key, tenant_key)
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
  requests integer,
  PRIMARY KEY (period_key, tenant_key, line_number)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TRIGGER charge_lines_of_closed_stay BEFORE DELETE ON charge_lines WHEN (SELECT closed_seq FROM periods WHERE period_key = old.period_key) IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'charges of a closed period never change'); END;
--> statement-breakpoint
CREATE TRIGGER charge_lines_no_update BEFORE UPDATE ON charge_lines
BEGIN SELECT RAISE(ABORT, 'charges are written anew, not changed'); END;
--> statement-breakpoint
CREATE TABLE charge_corrections (
  correction_id integer PRIMARY KEY NOT NULL,
  booked_period_key integer NOT NULL,
  tenant_key integer NOT NULL,
  corrects_period_key integer NOT NULL,
  card_key integer,
  credits_delta integer NOT NULL,
  amount_minor integer,
  cause text NOT NULL,
  adjustment_id integer,
  line_id integer
) STRICT;
--> statement-breakpoint
CREATE INDEX charge_corrections_by_key ON charge_corrections (corrects_period_key, tenant_key);
--> statement-breakpoint
CREATE INDEX charge_corrections_by_booking ON charge_corrections (booked_period_key, tenant_key);
--> statement-breakpoint
CREATE TRIGGER charge_corrections_no_update BEFORE UPDATE ON charge_corrections
BEGIN SELECT RAISE(ABORT, 'charge_corrections is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER charge_corrections_no_delete BEFORE DELETE ON charge_corrections
BEGIN SELECT RAISE(ABORT, 'charge_corrections is append-only'); END;
--> statement-breakpoint
CREATE TABLE manual_lines (
  line_id integer PRIMARY KEY NOT NULL,
  period_key integer NOT NULL,
  tenant_key integer NOT NULL,
  amount_minor integer NOT NULL,
  currency text NOT NULL,
  minor_units integer NOT NULL,
  reason text NOT NULL,
  actor text NOT NULL,
  recorded_at text NOT NULL,
  after_seq integer NOT NULL,
  revoked_at text,
  revoked_by text,
  revoked_because text,
  revoked_after_seq integer,
  FOREIGN KEY (period_key) REFERENCES periods(period_key),
  FOREIGN KEY (tenant_key) REFERENCES tenants(tenant_key)
) STRICT;
--> statement-breakpoint
CREATE INDEX manual_lines_by_key ON manual_lines (period_key, tenant_key);
--> statement-breakpoint
CREATE TRIGGER manual_lines_keep_what_they_say BEFORE UPDATE ON manual_lines
WHEN old.revoked_after_seq IS NOT NULL OR new.revoked_after_seq IS NULL
  OR json_array(old.line_id, old.period_key, old.tenant_key, old.amount_minor, old.currency, old.minor_units, old.reason, old.actor, old.recorded_at, old.after_seq)
  <> json_array(new.line_id, new.period_key, new.tenant_key, new.amount_minor, new.currency, new.minor_units, new.reason, new.actor, new.recorded_at, new.after_seq)
BEGIN SELECT RAISE(ABORT, 'a line by hand never changes, it is revoked once'); END;
--> statement-breakpoint
CREATE TRIGGER manual_lines_no_delete BEFORE DELETE ON manual_lines
BEGIN SELECT RAISE(ABORT, 'lines by hand are revoked, not deleted'); END;
--> statement-breakpoint
CREATE TABLE outlets (
  name text PRIMARY KEY NOT NULL,
  receiver text NOT NULL,
  workspaces text,
  from_period text NOT NULL,
  begun_at text NOT NULL,
  begun_by text NOT NULL,
  cursor integer NOT NULL,
  flight_to integer,
  flight_since text,
  paused text,
  reason text,
  changed_at text NOT NULL,
  checked_at text,
  differences text,
  reports_until text
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE outlet_events (
  outlet text NOT NULL,
  entry_id integer NOT NULL,
  state text NOT NULL,
  reason text NOT NULL,
  since text NOT NULL,
  posted_at text,
  settled_at text,
  settled_by text,
  note text,
  PRIMARY KEY (outlet, entry_id),
  FOREIGN KEY (outlet) REFERENCES outlets (name)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX outlet_events_by_state ON outlet_events (outlet, state);
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
  ('adjustments', 'adjustments_by_event', '10000 1000'),
  ('tenant_names', 'tenant_names', '100000 1 1'),
  ('rate_cards', NULL, '20'),
  ('charges', 'charges', '2400000 5000 1'),
  ('charge_lines', 'charge_lines', '4800000 10000 2 1'),
  ('costs', 'costs', '2400000 5000 1'),
  ('charge_corrections', 'charge_corrections_by_key', '10000 50 2'),
  ('charge_corrections', 'charge_corrections_by_booking', '10000 50 2'),
  ('invoice_numbers', 'invoice_numbers_by_close', '1200000 5000 1 1'),
  ('manual_lines', 'manual_lines_by_key', '1000 10 1');
--> statement-breakpoint
-- Loads them into this connection.
ANALYZE sqlite_schema;
