-- Written on every walk, read by nobody.
ALTER TABLE walks DROP COLUMN page_digests;
--> statement-breakpoint
CREATE INDEX `outbox_dead` ON `outbox` (`created_at`,`notification_id`) WHERE state = 'dead';
--> statement-breakpoint
-- Which process of that id holds the lease.
ALTER TABLE leases ADD `holder_start` text;
