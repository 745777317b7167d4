CREATE INDEX IF NOT EXISTS usage_entries_by_key ON usage_entries (ledger_key, period_key, tenant_key, entry_id);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS tenant_usage_by_tenant ON tenant_usage (ledger_key, tenant_key);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS tenants_by_id ON tenants (ledger_key, tenant_id);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS periods_by_name ON periods (period, ledger_key);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS runs_by_workspace ON runs (ledger_key, workspace_key, run_key);
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS runs_by_time ON runs (ledger_key, workspace_key, finished_at) WHERE applied_seq IS NOT NULL;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS runs_by_position ON runs (ledger_key, applied_seq) WHERE applied_seq IS NOT NULL;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS runs_under_way ON runs (ledger_key) WHERE status = 'running';
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS adjustments_by_booking ON adjustments (ledger_key, booked_period_key);
