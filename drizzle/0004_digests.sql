CREATE TABLE `__new_outbox` (
  `notification_id` text PRIMARY KEY NOT NULL,
  `alert_key` integer,
  `revision` integer,
  `channel` text NOT NULL,
  `payload` text NOT NULL,
  `state` text NOT NULL,
  `attempts` integer DEFAULT 0 NOT NULL,
  `attempts_before` integer DEFAULT 0 NOT NULL,
  `created_at` text NOT NULL,
  `next_attempt_at` text NOT NULL,
  `claimed_until` text,
  `delivered_at` text,
  `last_error` text,
  `digest_at` text,
  `digest_id` text,
  FOREIGN KEY (`alert_key`) REFERENCES `alerts`(`alert_key`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_outbox` (notification_id, alert_key, revision, channel, payload, state, attempts, attempts_before, created_at, next_attempt_at, claimed_until, delivered_at, last_error)
SELECT notification_id, alert_key,
  CASE WHEN json_valid(payload) AND payload ->> '$.type' LIKE 'alert.%' THEN (
    SELECT max(x.revision) FROM alert_transitions x
    WHERE x.alert_key = outbox.alert_key AND x.at = outbox.created_at AND x.silent = 0
  ) END,
  channel, payload, state, attempts, attempts_before, created_at, next_attempt_at, claimed_until, delivered_at, last_error
FROM outbox ORDER BY rowid;
--> statement-breakpoint
DROP TABLE `outbox`;
--> statement-breakpoint
ALTER TABLE `__new_outbox` RENAME TO `outbox`;
--> statement-breakpoint
CREATE INDEX `outbox_due` ON `outbox` (`next_attempt_at`) WHERE state = 'pending';
--> statement-breakpoint
CREATE INDEX `outbox_held` ON `outbox` (`next_attempt_at`) WHERE state = 'held';
--> statement-breakpoint
CREATE INDEX `outbox_by_alert` ON `outbox` (`alert_key`) WHERE alert_key IS NOT NULL;
