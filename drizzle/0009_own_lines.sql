-- A charge of one price is its own line: half the rows of a flat card. Those from before stay as they are.
ALTER TABLE charges ADD COLUMN tier integer;
--> statement-breakpoint
ALTER TABLE charges ADD COLUMN unit_credits integer;
--> statement-breakpoint
ALTER TABLE charges ADD COLUMN unit_price text;
