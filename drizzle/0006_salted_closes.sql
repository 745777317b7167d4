-- Closes are salted, and say whose process closed; those from before stay as they are.
ALTER TABLE close_commitments ADD COLUMN salt text;
--> statement-breakpoint
ALTER TABLE period_events ADD COLUMN system_user text;
