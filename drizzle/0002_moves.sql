-- A workspace that was exported is closed to this ledger until it is kept after all; an imported one says where it came from.
CREATE TABLE `workspace_moves` (
  `move_key` integer PRIMARY KEY NOT NULL,
  `workspace_key` integer NOT NULL,
  `action` text NOT NULL,
  `at` text NOT NULL,
  `actor` text NOT NULL,
  `ledger_id` text,
  `position` integer NOT NULL,
  `head_digest` text NOT NULL,
  FOREIGN KEY (`workspace_key`) REFERENCES `workspaces`(`workspace_key`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `workspace_moves_by_workspace` ON `workspace_moves` (`workspace_key`);
--> statement-breakpoint
-- Links of the chain that were brought from another ledger, with what they were there; part of their digests.
CREATE TABLE `moved_links` (
  `seq` integer PRIMARY KEY NOT NULL,
  `ledger_id` text NOT NULL,
  `origin_seq` integer NOT NULL,
  `origin_digest` text NOT NULL,
  `origin_first_entry_id` integer,
  `card_set` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TRIGGER workspace_moves_no_update BEFORE UPDATE ON workspace_moves BEGIN SELECT RAISE(ABORT, 'workspace_moves is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER workspace_moves_no_delete BEFORE DELETE ON workspace_moves BEGIN SELECT RAISE(ABORT, 'workspace_moves is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER moved_links_no_update BEFORE UPDATE ON moved_links BEGIN SELECT RAISE(ABORT, 'moved_links is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER moved_links_no_delete BEFORE DELETE ON moved_links BEGIN SELECT RAISE(ABORT, 'moved_links is append-only'); END;
