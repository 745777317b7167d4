-- What was moved between ledgers, as the ledgers say it.
CREATE TABLE workspace_moves (
  ledger_key integer NOT NULL,
  move_key bigint NOT NULL,
  workspace_key bigint NOT NULL,
  action text COLLATE "C" NOT NULL,
  at text COLLATE "C" NOT NULL,
  actor text COLLATE "C" NOT NULL,
  ledger_id text COLLATE "C",
  position bigint NOT NULL,
  head_digest text COLLATE "C" NOT NULL,
  PRIMARY KEY (ledger_key, move_key)
);
--> statement-breakpoint
CREATE TABLE moved_links (
  ledger_key integer NOT NULL,
  seq bigint NOT NULL,
  ledger_id text COLLATE "C" NOT NULL,
  origin_seq bigint NOT NULL,
  origin_digest text COLLATE "C" NOT NULL,
  origin_first_entry_id bigint,
  card_set bigint NOT NULL,
  PRIMARY KEY (ledger_key, seq)
);
