-- How sure an alert is, is its level: likely, happened, settled. How often it was told again is told_times.
DROP TRIGGER alert_transitions_no_update;
--> statement-breakpoint
ALTER TABLE `alerts` RENAME COLUMN `level` TO `told_times`;
--> statement-breakpoint
ALTER TABLE `alerts` RENAME COLUMN `stage` TO `level`;
--> statement-breakpoint
ALTER TABLE `alert_transitions` RENAME COLUMN `stage` TO `level`;
--> statement-breakpoint
ALTER TABLE `alert_told` RENAME COLUMN `level` TO `told_times`;
--> statement-breakpoint
ALTER TABLE `alert_told` RENAME COLUMN `stage` TO `level`;
--> statement-breakpoint
ALTER TABLE `outbox` RENAME COLUMN `level` TO `told_times`;
--> statement-breakpoint
ALTER TABLE `outbox` RENAME COLUMN `stage` TO `level`;
--> statement-breakpoint
UPDATE alerts SET level = CASE level WHEN 'pace' THEN 'likely' WHEN 'certain' THEN 'happened' ELSE 'settled' END;
--> statement-breakpoint
UPDATE alert_transitions SET level = CASE level WHEN 'pace' THEN 'likely' WHEN 'certain' THEN 'happened' ELSE 'settled' END;
--> statement-breakpoint
UPDATE alert_told SET level = CASE level WHEN 'pace' THEN 'likely' WHEN 'certain' THEN 'happened' ELSE 'settled' END;
--> statement-breakpoint
UPDATE outbox SET level = CASE level WHEN 'pace' THEN 'likely' WHEN 'certain' THEN 'happened' ELSE 'settled' END
  WHERE level IS NOT NULL;
--> statement-breakpoint
CREATE TRIGGER alert_transitions_no_update BEFORE UPDATE ON alert_transitions BEGIN SELECT RAISE(ABORT, 'alert_transitions is append-only'); END;
