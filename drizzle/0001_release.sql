-- Written on every walk, read by nobody.
ALTER TABLE walks DROP COLUMN page_digests;
--> statement-breakpoint
CREATE INDEX `outbox_dead` ON `outbox` (`created_at`,`notification_id`) WHERE state = 'dead';
