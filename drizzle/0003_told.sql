-- What each receiver was told of an alert last, beside what is so. `*` stands for whoever has no row: what was there before
-- anybody could be told is not news.
CREATE TABLE `alert_told` (
  `alert_key` integer NOT NULL,
  `channel` text NOT NULL,
  `event` text NOT NULL,
  `episode` integer NOT NULL,
  `stage` text NOT NULL,
  `level` integer NOT NULL,
  `measure` integer,
  `open` integer NOT NULL,
  `at` text NOT NULL,
  `at_once` integer NOT NULL,
  `revision` integer NOT NULL,
  PRIMARY KEY(`alert_key`, `channel`),
  FOREIGN KEY (`alert_key`) REFERENCES `alerts`(`alert_key`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `alert_told_open` ON `alert_told` (`alert_key`) WHERE open = 1;
--> statement-breakpoint
ALTER TABLE `alerts` RENAME COLUMN `notified_measure` TO `measure`;
--> statement-breakpoint
ALTER TABLE `alerts` ADD `episode` integer NOT NULL DEFAULT 0;
--> statement-breakpoint
ALTER TABLE `alerts` ADD `began_at` text;
--> statement-breakpoint
ALTER TABLE `alerts` ADD `basis` text;
--> statement-breakpoint
ALTER TABLE `alerts` ADD `ask_at` text;
--> statement-breakpoint
ALTER TABLE `alerts` ADD `asked_at` text;
--> statement-breakpoint
CREATE INDEX `alerts_to_ask` ON `alerts` (`ask_at`) WHERE ask_at IS NOT NULL;
--> statement-breakpoint
ALTER TABLE `outbox` ADD `event` text;
--> statement-breakpoint
ALTER TABLE `outbox` ADD `episode` integer;
--> statement-breakpoint
ALTER TABLE `outbox` ADD `stage` text;
--> statement-breakpoint
ALTER TABLE `outbox` ADD `level` integer;
--> statement-breakpoint
ALTER TABLE `outbox` ADD `measure` integer;
--> statement-breakpoint
ALTER TABLE `outbox` ADD `unknown_attempts` integer NOT NULL DEFAULT 0;
--> statement-breakpoint
CREATE INDEX `outbox_by_digest` ON `outbox` (`digest_id`) WHERE digest_id IS NOT NULL;
--> statement-breakpoint
DROP INDEX `outbox_done`;
--> statement-breakpoint
CREATE INDEX `outbox_done` ON `outbox` (`created_at`) WHERE state IN ('delivered', 'digested', 'dead', 'dropped');
--> statement-breakpoint
UPDATE alerts SET
  episode = (SELECT count(*) FROM alert_transitions x WHERE x.alert_key = alerts.alert_key AND x.change = 'fired'),
  began_at = (SELECT max(x.at) FROM alert_transitions x WHERE x.alert_key = alerts.alert_key AND x.change = 'fired');
--> statement-breakpoint
-- Of an attempt that was made before nobody knows whether it has arrived.
UPDATE outbox SET unknown_attempts = 1 WHERE state = 'pending' AND (attempts > 0 OR claimed_until IS NOT NULL);
--> statement-breakpoint
UPDATE outbox SET
  event = CASE x.change WHEN 'fired' THEN 'opened' WHEN 'escalated' THEN 'worse' WHEN 'grown' THEN 'grown' ELSE 'closed' END,
  stage = x.stage,
  episode = (SELECT count(*) FROM alert_transitions f
    WHERE f.alert_key = x.alert_key AND f.revision <= x.revision AND f.change = 'fired'),
  level = CASE x.change WHEN 'grown' THEN 1 ELSE 0 END,
  measure = (SELECT a.measure FROM alerts a WHERE a.alert_key = x.alert_key)
FROM alert_transitions x WHERE x.alert_key = outbox.alert_key AND x.revision = outbox.revision;
--> statement-breakpoint
INSERT INTO alert_told
SELECT o.alert_key, o.channel, o.event, o.episode, o.stage, a.level, a.measure, o.event <> 'closed',
  coalesce(o.delivered_at, o.created_at), o.digest_at IS NULL, o.revision
FROM (SELECT max(revision) AS last, * FROM outbox WHERE event IS NOT NULL AND state IN ('delivered', 'digested')
  GROUP BY alert_key, channel) o
JOIN alerts a ON a.alert_key = o.alert_key;
--> statement-breakpoint
-- Who was told of an incident was told of its members; their ends are told one by one.
INSERT INTO alert_told
SELECT a.alert_key, i.channel, 'opened', a.episode, a.stage, a.level, a.measure, 1, i.at, 1, a.revision
FROM alerts a JOIN alert_told i ON i.alert_key = a.incident_key AND i.open = 1
WHERE a.state IN ('firing', 'acknowledged') ON CONFLICT DO NOTHING;
--> statement-breakpoint
-- What still waits for a receiver that was told nothing is news to that one.
INSERT INTO alert_told
SELECT DISTINCT o.alert_key, o.channel, 'baseline', 0, o.stage, 0, NULL, 0, o.created_at, 0, 0
FROM outbox o WHERE o.event IS NOT NULL AND o.state IN ('pending', 'held', 'dead') ON CONFLICT DO NOTHING;
--> statement-breakpoint
INSERT INTO alert_told
SELECT alert_key, '*', 'baseline', episode, stage, level, measure, 0, last_changed_at, 0, 0
FROM alerts WHERE state IN ('firing', 'acknowledged');
--> statement-breakpoint
-- Of several that wait for a receiver only the last may still be news.
UPDATE outbox SET state = 'dropped' WHERE event IS NOT NULL AND state IN ('pending', 'held') AND unknown_attempts = 0
  AND EXISTS (SELECT 1 FROM outbox n WHERE n.alert_key = outbox.alert_key AND n.channel = outbox.channel
    AND n.state IN ('pending', 'held') AND n.revision > outbox.revision);
--> statement-breakpoint
UPDATE alerts SET ask_at = last_changed_at, asked_at = last_changed_at WHERE alert_key IN (
  SELECT alert_key FROM outbox WHERE event IS NOT NULL AND state IN ('pending', 'held'));
