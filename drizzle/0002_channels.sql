CREATE TABLE `channel_states` (
  `name` text PRIMARY KEY NOT NULL,
  `disabled_at` text NOT NULL,
  `reason` text NOT NULL
) STRICT;
--> statement-breakpoint
ALTER TABLE `outbox` ADD `attempts_before` integer DEFAULT 0 NOT NULL;
