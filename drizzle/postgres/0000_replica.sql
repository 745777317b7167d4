-- The replica: every table of a ledger under its own name, with the ledger's key before its columns. Nothing is declared
-- between tables: a ledger has checked its references before it publishes, and one transaction publishes all of them.
CREATE TABLE ledgers (
  ledger_key integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  ledger_id text COLLATE "C" NOT NULL UNIQUE,
  -- The head of the chain that the replica holds: a publisher continues this one or is refused.
  position bigint NOT NULL,
  head_digest text COLLATE "C" NOT NULL,
  -- Counts how often the ledger was rebuilt elsewhere or took the place of another copy: older copies are out.
  epoch integer NOT NULL,
  -- The schema of the ledger, as its last migration is numbered.
  schema_at bigint NOT NULL,
  last_tenant_key bigint NOT NULL,
  last_entry_id bigint NOT NULL,
  last_run_key bigint NOT NULL,
  last_change_seq bigint NOT NULL,
  last_event_seq bigint NOT NULL,
  last_adjustment_id bigint NOT NULL,
  kept_from_run bigint NOT NULL,
  -- What tells this copy of the ledger from another one that ends with the same head.
  last_run_id text COLLATE "C" NOT NULL,
  last_change text COLLATE "C" NOT NULL,
  -- Digests of the tables that are sent as a whole, by name.
  whole_tables jsonb NOT NULL,
  head_at text COLLATE "C" NOT NULL,
  published_at text COLLATE "C" NOT NULL,
  published_by text COLLATE "C" NOT NULL
);
--> statement-breakpoint
-- Signed heads of the chain, as the ledger's host has left them.
CREATE TABLE checkpoints (
  ledger_key integer NOT NULL,
  seq bigint NOT NULL,
  note text COLLATE "C" NOT NULL,
  PRIMARY KEY (ledger_key, seq)
);
--> statement-breakpoint
CREATE TABLE ledger_meta (
  ledger_key integer NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  PRIMARY KEY (ledger_key, name)
);
--> statement-breakpoint
CREATE TABLE workspaces (
  ledger_key integer NOT NULL,
  workspace_key bigint NOT NULL,
  workspace_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  first_run_key bigint,
  PRIMARY KEY (ledger_key, workspace_key)
);
--> statement-breakpoint
CREATE TABLE tenants (
  ledger_key integer NOT NULL,
  tenant_key bigint NOT NULL,
  workspace_key bigint NOT NULL,
  tenant_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (ledger_key, tenant_key)
);
--> statement-breakpoint
CREATE TABLE periods (
  ledger_key integer NOT NULL,
  period_key bigint NOT NULL,
  workspace_key bigint NOT NULL,
  period text COLLATE "C" NOT NULL,
  period_start text COLLATE "C" NOT NULL,
  period_end text COLLATE "C" NOT NULL,
  covered_run_key bigint,
  final_run_key bigint,
  closed_seq bigint,
  unsteady_run_key bigint,
  figures_digest bytea,
  PRIMARY KEY (ledger_key, period_key)
);
--> statement-breakpoint
CREATE TABLE runs (
  ledger_key integer NOT NULL,
  run_key bigint NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  workspace_key bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  slot text COLLATE "C",
  status text COLLATE "C" NOT NULL,
  fencing_token bigint NOT NULL,
  from_period text COLLATE "C",
  to_period text COLLATE "C",
  started_at text COLLATE "C" NOT NULL,
  finished_at text COLLATE "C",
  pages bigint NOT NULL,
  records bigint NOT NULL,
  entries bigint NOT NULL,
  first_entry_id bigint,
  applied_seq bigint,
  previous_digest text COLLATE "C",
  digest text COLLATE "C",
  error_code text COLLATE "C",
  error_message text COLLATE "C",
  last_change_seq bigint,
  PRIMARY KEY (ledger_key, run_key)
);
--> statement-breakpoint
CREATE TABLE walks (
  ledger_key integer NOT NULL,
  run_key bigint NOT NULL,
  walk_number bigint NOT NULL,
  started_at text COLLATE "C" NOT NULL,
  finished_at text COLLATE "C" NOT NULL,
  pages bigint NOT NULL,
  records bigint NOT NULL,
  distinct_keys bigint NOT NULL,
  total_records bigint NOT NULL,
  total_pages bigint NOT NULL,
  key_set_digest text COLLATE "C" NOT NULL,
  content_digest text COLLATE "C" NOT NULL,
  verdict text COLLATE "C" NOT NULL,
  signs text COLLATE "C" NOT NULL,
  PRIMARY KEY (ledger_key, run_key, walk_number)
);
--> statement-breakpoint
CREATE TABLE leases (
  ledger_key integer NOT NULL,
  workspace_key bigint NOT NULL,
  fencing_token bigint NOT NULL,
  run_key bigint NOT NULL,
  holder_host text COLLATE "C" NOT NULL,
  holder_pid bigint NOT NULL,
  expires_at text COLLATE "C" NOT NULL,
  released bigint NOT NULL,
  holder_start text COLLATE "C",
  PRIMARY KEY (ledger_key, workspace_key)
);
--> statement-breakpoint
CREATE TABLE row_changes (
  ledger_key integer NOT NULL,
  change_seq bigint NOT NULL,
  table_name text COLLATE "C" NOT NULL,
  row_key text COLLATE "C" NOT NULL,
  row_digest bytea,
  PRIMARY KEY (ledger_key, change_seq)
);
--> statement-breakpoint
CREATE TABLE usage_entries (
  ledger_key integer NOT NULL,
  entry_id bigint NOT NULL,
  run_key bigint NOT NULL,
  period_key bigint NOT NULL,
  tenant_key bigint NOT NULL,
  kind bigint NOT NULL,
  credits_delta bigint NOT NULL,
  requests_delta bigint NOT NULL,
  credits_after bigint NOT NULL,
  requests_after bigint NOT NULL,
  PRIMARY KEY (ledger_key, entry_id)
);
--> statement-breakpoint
CREATE TABLE tenant_usage (
  ledger_key integer NOT NULL,
  period_key bigint NOT NULL,
  tenant_key bigint NOT NULL,
  credits_used bigint NOT NULL,
  request_count bigint NOT NULL,
  withdrawn bigint NOT NULL,
  first_run_key bigint NOT NULL,
  changed_run_key bigint NOT NULL,
  PRIMARY KEY (ledger_key, period_key, tenant_key)
);
--> statement-breakpoint
CREATE TABLE absences (
  ledger_key integer NOT NULL,
  period_key bigint NOT NULL,
  tenant_key bigint NOT NULL,
  run_key bigint NOT NULL,
  PRIMARY KEY (ledger_key, period_key, tenant_key)
);
--> statement-breakpoint
CREATE TABLE period_events (
  ledger_key integer NOT NULL,
  event_seq bigint NOT NULL,
  workspace_key bigint NOT NULL,
  period_key bigint NOT NULL,
  action text COLLATE "C" NOT NULL,
  at text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  note text COLLATE "C" NOT NULL,
  forced bigint NOT NULL,
  overridden text COLLATE "C" NOT NULL,
  tenants bigint NOT NULL,
  credits_used bigint NOT NULL,
  request_count bigint NOT NULL,
  last_entry_id bigint NOT NULL,
  previous_digest text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  PRIMARY KEY (ledger_key, event_seq)
);
--> statement-breakpoint
CREATE TABLE closed_usage (
  ledger_key integer NOT NULL,
  period_key bigint NOT NULL,
  tenant_key bigint NOT NULL,
  credits_used bigint NOT NULL,
  request_count bigint NOT NULL,
  withdrawn bigint NOT NULL,
  first_run_key bigint NOT NULL,
  changed_run_key bigint NOT NULL,
  PRIMARY KEY (ledger_key, period_key, tenant_key)
);
--> statement-breakpoint
CREATE TABLE close_commitments (
  ledger_key integer NOT NULL,
  event_seq bigint NOT NULL,
  leaves bigint NOT NULL,
  root text COLLATE "C" NOT NULL,
  PRIMARY KEY (ledger_key, event_seq)
);
--> statement-breakpoint
CREATE TABLE adjustments (
  ledger_key integer NOT NULL,
  adjustment_id bigint NOT NULL,
  corrects_period_key bigint NOT NULL,
  tenant_key bigint NOT NULL,
  booked_period_key bigint NOT NULL,
  credits_delta bigint NOT NULL,
  requests_delta bigint NOT NULL,
  recorded_at text COLLATE "C" NOT NULL,
  run_key bigint,
  entry_id bigint,
  event_seq bigint,
  PRIMARY KEY (ledger_key, adjustment_id)
);
--> statement-breakpoint
CREATE TABLE alerts (
  ledger_key integer NOT NULL,
  alert_key bigint NOT NULL,
  alert_id text COLLATE "C" NOT NULL,
  rule text COLLATE "C" NOT NULL,
  rule_version bigint NOT NULL,
  workspace_key bigint NOT NULL,
  tenant_key bigint,
  period_key bigint,
  stage text COLLATE "C" NOT NULL,
  severity text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  previous_credits bigint,
  current_credits bigint,
  previous_requests bigint,
  current_requests bigint,
  threshold bigint,
  first_fired_at text COLLATE "C",
  last_changed_at text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  level bigint NOT NULL,
  notified_measure bigint,
  pending_since text COLLATE "C",
  clear_run_key bigint,
  incident_key bigint,
  detail text COLLATE "C",
  PRIMARY KEY (ledger_key, alert_key)
);
--> statement-breakpoint
CREATE TABLE alert_transitions (
  ledger_key integer NOT NULL,
  alert_key bigint NOT NULL,
  revision bigint NOT NULL,
  change text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  stage text COLLATE "C" NOT NULL,
  run_key bigint,
  actor text COLLATE "C" NOT NULL,
  at text COLLATE "C" NOT NULL,
  current_credits bigint,
  silent bigint NOT NULL,
  silent_because text COLLATE "C",
  note text COLLATE "C",
  evidence text COLLATE "C",
  PRIMARY KEY (ledger_key, alert_key, revision)
);
--> statement-breakpoint
CREATE TABLE alert_feedback (
  ledger_key integer NOT NULL,
  feedback_key bigint NOT NULL,
  alert_key bigint NOT NULL,
  label text COLLATE "C" NOT NULL,
  note text COLLATE "C",
  actor text COLLATE "C" NOT NULL,
  at text COLLATE "C" NOT NULL,
  PRIMARY KEY (ledger_key, feedback_key)
);
--> statement-breakpoint
CREATE TABLE silences (
  ledger_key integer NOT NULL,
  silence_key bigint NOT NULL,
  silence_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  workspace_key bigint,
  rule text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  period text COLLATE "C" NOT NULL,
  up_to_credits bigint,
  until text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  ended_at text COLLATE "C",
  ended_by text COLLATE "C",
  PRIMARY KEY (ledger_key, silence_key)
);
--> statement-breakpoint
CREATE TABLE outbox (
  ledger_key integer NOT NULL,
  notification_id text COLLATE "C" NOT NULL,
  alert_key bigint,
  revision bigint,
  channel text COLLATE "C" NOT NULL,
  payload text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  attempts bigint NOT NULL,
  attempts_before bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  next_attempt_at text COLLATE "C" NOT NULL,
  claimed_until text COLLATE "C",
  delivered_at text COLLATE "C",
  last_error text COLLATE "C",
  digest_at text COLLATE "C",
  digest_id text COLLATE "C",
  PRIMARY KEY (ledger_key, notification_id)
);
--> statement-breakpoint
CREATE TABLE channel_states (
  ledger_key integer NOT NULL,
  name text COLLATE "C" NOT NULL,
  disabled_at text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  PRIMARY KEY (ledger_key, name)
);
--> statement-breakpoint
CREATE TABLE tenant_names (
  ledger_key integer NOT NULL,
  tenant_key bigint NOT NULL,
  after_seq bigint NOT NULL,
  display_name text COLLATE "C",
  external_ref text COLLATE "C",
  labels text COLLATE "C" NOT NULL,
  recorded_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (ledger_key, tenant_key, after_seq)
);
--> statement-breakpoint
CREATE TABLE rate_cards (
  ledger_key integer NOT NULL,
  card_key bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  definition text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  recorded_at text COLLATE "C" NOT NULL,
  after_seq bigint NOT NULL,
  retired_at text COLLATE "C",
  retired_after_seq bigint,
  PRIMARY KEY (ledger_key, card_key)
);
--> statement-breakpoint
CREATE TABLE charges (
  ledger_key integer NOT NULL,
  period_key bigint NOT NULL,
  tenant_key bigint NOT NULL,
  card_key bigint NOT NULL,
  credits_used bigint NOT NULL,
  amount_minor bigint,
  PRIMARY KEY (ledger_key, period_key, tenant_key)
);
--> statement-breakpoint
CREATE TABLE charge_lines (
  ledger_key integer NOT NULL,
  period_key bigint NOT NULL,
  tenant_key bigint NOT NULL,
  line_number bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  tier bigint,
  credits bigint,
  unit_credits bigint,
  unit_price text COLLATE "C",
  amount_minor bigint NOT NULL,
  PRIMARY KEY (ledger_key, period_key, tenant_key, line_number)
);
--> statement-breakpoint
CREATE TABLE charge_corrections (
  ledger_key integer NOT NULL,
  booked_period_key bigint NOT NULL,
  tenant_key bigint NOT NULL,
  adjustment_id bigint NOT NULL,
  card_key bigint NOT NULL,
  corrects_period_key bigint NOT NULL,
  credits_delta bigint NOT NULL,
  amount_minor bigint,
  PRIMARY KEY (ledger_key, booked_period_key, tenant_key, adjustment_id)
);
--> statement-breakpoint
CREATE INDEX usage_entries_by_key ON usage_entries (ledger_key, period_key, tenant_key, entry_id);
--> statement-breakpoint
CREATE INDEX tenant_usage_by_tenant ON tenant_usage (ledger_key, tenant_key);
--> statement-breakpoint
CREATE INDEX tenants_by_id ON tenants (ledger_key, tenant_id);
--> statement-breakpoint
CREATE INDEX periods_by_name ON periods (period, ledger_key);
--> statement-breakpoint
CREATE INDEX runs_by_workspace ON runs (ledger_key, workspace_key, run_key);
--> statement-breakpoint
CREATE INDEX runs_by_time ON runs (ledger_key, workspace_key, finished_at) WHERE applied_seq IS NOT NULL;
--> statement-breakpoint
CREATE INDEX runs_by_position ON runs (ledger_key, applied_seq) WHERE applied_seq IS NOT NULL;
--> statement-breakpoint
CREATE INDEX runs_under_way ON runs (ledger_key) WHERE status = 'running';
--> statement-breakpoint
CREATE INDEX adjustments_by_booking ON adjustments (ledger_key, booked_period_key);
