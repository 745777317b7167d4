-- Ids of workspaces that the ledger holds and that other hosts do, by the configuration of who published last.
ALTER TABLE ledgers ADD COLUMN elsewhere text[] COLLATE "C" NOT NULL DEFAULT '{}';
