-- An export, import or keeping of a workspace is a link of the chain; those from before stay as they are.
ALTER TABLE workspace_moves ADD COLUMN move_seq integer;
--> statement-breakpoint
ALTER TABLE workspace_moves ADD COLUMN previous_digest text;
--> statement-breakpoint
ALTER TABLE workspace_moves ADD COLUMN digest text;
--> statement-breakpoint
ALTER TABLE workspace_moves ADD COLUMN last_change_seq integer;
--> statement-breakpoint
CREATE UNIQUE INDEX workspace_moves_move_seq_unique ON workspace_moves (move_seq);
