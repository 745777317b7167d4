-- A correction names its cause, may stand without an adjustment, and may be one that nobody has booked yet.
CREATE TABLE corrections (
  correction_id integer PRIMARY KEY NOT NULL,
  booked_period_key integer,
  tenant_key integer NOT NULL,
  corrects_period_key integer NOT NULL,
  card_key integer,
  credits_delta integer NOT NULL,
  amount_minor integer,
  cause text NOT NULL,
  adjustment_id integer
) STRICT;
--> statement-breakpoint
INSERT INTO corrections
  (booked_period_key, tenant_key, corrects_period_key, card_key, credits_delta, amount_minor, cause, adjustment_id)
SELECT c.booked_period_key, c.tenant_key, c.corrects_period_key, c.card_key, c.credits_delta, c.amount_minor,
  CASE WHEN a.event_seq IS NOT NULL THEN 'reopen' WHEN e.kind = 4 THEN 'withdrawal' WHEN e.kind = 5 THEN 'return' ELSE 'usage' END,
  c.adjustment_id
FROM charge_corrections c
LEFT JOIN adjustments a ON a.adjustment_id = c.adjustment_id
LEFT JOIN usage_entries e ON e.entry_id = a.entry_id
ORDER BY c.adjustment_id;
--> statement-breakpoint
DROP TABLE charge_corrections;
--> statement-breakpoint
ALTER TABLE corrections RENAME TO charge_corrections;
--> statement-breakpoint
CREATE INDEX charge_corrections_by_key ON charge_corrections (corrects_period_key, tenant_key);
--> statement-breakpoint
CREATE INDEX charge_corrections_by_booking ON charge_corrections (booked_period_key, tenant_key);
--> statement-breakpoint
CREATE TRIGGER charge_corrections_no_update BEFORE UPDATE ON charge_corrections BEGIN SELECT RAISE(ABORT, 'charge_corrections is append-only'); END;
--> statement-breakpoint
CREATE TRIGGER charge_corrections_no_delete BEFORE DELETE ON charge_corrections BEGIN SELECT RAISE(ABORT, 'charge_corrections is append-only'); END;
--> statement-breakpoint
-- How many minor units a major one of the card's currency has.
ALTER TABLE rate_cards ADD COLUMN minor_units integer NOT NULL DEFAULT 100;
--> statement-breakpoint
UPDATE rate_cards SET minor_units = CASE
  WHEN currency IN ('BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI', 'VND', 'VUV', 'XAF', 'XOF', 'XPF') THEN 1
  WHEN currency IN ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND') THEN 1000
  WHEN currency IN ('CLF', 'UYW') THEN 10000 ELSE 100 END;
--> statement-breakpoint
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('charge_corrections', 'charge_corrections_by_key', '10000 50 2'),
  ('charge_corrections', 'charge_corrections_by_booking', '10000 50 2');
--> statement-breakpoint
ANALYZE sqlite_schema;
