-- What the replica has of its own, beside every table of a ledger under its own name, with the ledger's key before its columns.
-- Nothing is declared between tables: a ledger has checked its references before it publishes, and one transaction publishes
-- all of them. What is there already stays.
CREATE TABLE IF NOT EXISTS ledgers (
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
  published_by text COLLATE "C" NOT NULL,
  -- Ids of workspaces that the ledger holds and that other hosts do, by the configuration of who published last.
  elsewhere text[] COLLATE "C" NOT NULL DEFAULT '{}'
);
--> statement-breakpoint
-- Signed heads of the chain, as the ledger's host has left them.
CREATE TABLE IF NOT EXISTS checkpoints (
  ledger_key integer NOT NULL,
  seq bigint NOT NULL,
  note text COLLATE "C" NOT NULL,
  PRIMARY KEY (ledger_key, seq)
);
