-- The public contract, over all ledgers: the views of ../views.sql with `ledger_id` before their columns, as far as their SQL is
-- another one here; the rest are made of that file. Tables keep the text that digests are made of, compared byte by byte; what
-- views show has the type of what it is. Sums are exact.

-- Each workspace is counted once, whatever the ledgers that hold it say. First comes who reads it and does not leave it to
-- others, then who leaves it, and last who has never read it; of two alike, who was here first.
CREATE OR REPLACE VIEW moved_workspaces AS
SELECT ledger_key, workspace_key
FROM (SELECT w.ledger_key, w.workspace_key, row_number() OVER (PARTITION BY w.workspace_id ORDER BY
    CASE WHEN w.first_run_key IS NULL THEN 2
      WHEN w.workspace_id = ANY (l.elsewhere) THEN 1
      ELSE 0 END, w.ledger_key) AS place
  FROM workspaces w
  JOIN ledgers l ON l.ledger_key = w.ledger_key) placed
WHERE place > 1;
--> statement-breakpoint
-- `NOT IN` is looked up in a table of the few: a join would cost each view a relation.
CREATE OR REPLACE VIEW counted_workspaces AS
SELECT w.ledger_key, w.workspace_key, w.workspace_id, l.ledger_id FROM workspaces w
JOIN ledgers l ON l.ledger_key = w.ledger_key
WHERE (w.ledger_key, w.workspace_key) NOT IN (SELECT m.ledger_key, m.workspace_key FROM moved_workspaces m);
--> statement-breakpoint
CREATE OR REPLACE VIEW finance_charges AS
SELECT ledger_id, workspace_id, tenant_id, period, credits_used, amount_minor, currency, rate_card, charge_minor, correction_minor,
  CASE WHEN minor_units = 1 THEN CAST(amount_minor AS TEXT)
    ELSE CASE WHEN amount_minor < 0 THEN '-' ELSE '' END || (abs(amount_minor) / minor_units) || '.'
      || substr(CAST(minor_units + abs(amount_minor) - abs(amount_minor) / minor_units * minor_units AS TEXT), 2) END AS amount,
  CAST(CASE minor_units WHEN 1 THEN 0 WHEN 1000 THEN 3 WHEN 10000 THEN 4 WHEN 100 THEN 2 END AS bigint) AS currency_digits
FROM (
SELECT ledger_id, workspace_id, tenant_id, period, credits_used, charge_minor + correction_minor AS amount_minor, currency,
  rate_card, charge_minor, correction_minor, minor_units
FROM (
  SELECT g.ledger_id, w.workspace_id, t.tenant_id, p.period, c.credits_used, c.amount_minor AS charge_minor, k.currency,
    k.name AS rate_card, k.minor_units,
    (SELECT CASE WHEN count(*) = count(x.amount_minor) THEN coalesce(sum(x.amount_minor), 0)::bigint END
     FROM charge_corrections x JOIN rate_cards y ON y.ledger_key = x.ledger_key AND y.card_key = x.card_key
     WHERE x.ledger_key = c.ledger_key AND x.booked_period_key = c.period_key AND x.tenant_key = c.tenant_key
       AND y.currency = k.currency) AS correction_minor
  FROM charges c
  JOIN ledgers g ON g.ledger_key = c.ledger_key
  JOIN rate_cards k ON k.ledger_key = c.ledger_key AND k.card_key = c.card_key
  JOIN periods p ON p.ledger_key = c.ledger_key AND p.period_key = c.period_key
  JOIN counted_workspaces w ON w.ledger_key = c.ledger_key AND w.workspace_key = p.workspace_key
  JOIN tenants t ON t.ledger_key = c.ledger_key AND t.tenant_key = c.tenant_key AND t.workspace_key = w.workspace_key) charged
UNION ALL
SELECT g.ledger_id, w.workspace_id, t.tenant_id, p.period, 0 AS credits_used,
  CASE WHEN count(*) = count(x.amount_minor) THEN sum(x.amount_minor)::bigint END AS amount_minor, k.currency,
  max(k.name) AS rate_card, 0 AS charge_minor,
  CASE WHEN count(*) = count(x.amount_minor) THEN sum(x.amount_minor)::bigint END AS correction_minor,
  max(k.minor_units) AS minor_units
FROM charge_corrections x
JOIN ledgers g ON g.ledger_key = x.ledger_key
JOIN rate_cards k ON k.ledger_key = x.ledger_key AND k.card_key = x.card_key
JOIN periods p ON p.ledger_key = x.ledger_key AND p.period_key = x.booked_period_key
JOIN counted_workspaces w ON w.ledger_key = x.ledger_key AND w.workspace_key = p.workspace_key
JOIN tenants t ON t.ledger_key = x.ledger_key AND t.tenant_key = x.tenant_key AND t.workspace_key = w.workspace_key
WHERE NOT EXISTS (SELECT 1 FROM charges c JOIN rate_cards y ON y.ledger_key = c.ledger_key AND y.card_key = c.card_key
  WHERE c.ledger_key = x.ledger_key AND c.period_key = x.booked_period_key AND c.tenant_key = x.tenant_key
    AND y.currency = k.currency)
GROUP BY g.ledger_id, w.workspace_id, t.tenant_id, p.period, x.booked_period_key, x.tenant_key, k.currency) billed;
--> statement-breakpoint
CREATE OR REPLACE VIEW finance_daily AS
SELECT l.ledger_id, w.workspace_id, t.tenant_id, p.period, substr(r.finished_at, 1, 10) AS day,
  e.credits_after AS credits_used, e.credits_after - coalesce(f.credits_after, 0) AS credits_increase,
  e.requests_after - coalesce(f.requests_after, 0) AS request_increase, e.requests_after AS request_count
FROM usage_entries e
JOIN ledgers l ON l.ledger_key = e.ledger_key
JOIN periods p ON p.ledger_key = e.ledger_key AND p.period_key = e.period_key
JOIN counted_workspaces w ON w.ledger_key = e.ledger_key AND w.workspace_key = p.workspace_key
LEFT JOIN tenants t ON t.ledger_key = e.ledger_key AND t.tenant_key = e.tenant_key AND t.workspace_key = w.workspace_key
JOIN runs r ON r.ledger_key = e.ledger_key AND r.run_key = e.run_key
-- The last entry of an earlier day.
LEFT JOIN LATERAL (SELECT g.credits_after, g.requests_after FROM usage_entries g
  JOIN runs s ON s.ledger_key = g.ledger_key AND s.run_key = g.run_key
  WHERE g.ledger_key = e.ledger_key AND g.period_key = e.period_key AND g.tenant_key = e.tenant_key
    AND g.entry_id < e.entry_id AND s.finished_at < substr(r.finished_at, 1, 10)
  ORDER BY g.entry_id DESC LIMIT 1) f ON true
-- No later entry of the same day.
WHERE NOT EXISTS (SELECT 1 FROM (SELECT n.run_key FROM usage_entries n
    WHERE n.ledger_key = e.ledger_key AND n.period_key = e.period_key AND n.tenant_key = e.tenant_key
      AND n.entry_id > e.entry_id ORDER BY n.entry_id LIMIT 1) n
  JOIN runs s ON s.ledger_key = e.ledger_key AND s.run_key = n.run_key
  WHERE substr(s.finished_at, 1, 10) <= substr(r.finished_at, 1, 10));
--> statement-breakpoint
CREATE OR REPLACE VIEW finance_freshness AS
SELECT l.ledger_id, w.workspace_id,
  (SELECT r.finished_at::timestamptz FROM runs r WHERE r.ledger_key = w.ledger_key AND r.workspace_key = w.workspace_key
     AND r.status = 'applied' ORDER BY r.run_key DESC LIMIT 1) AS last_complete_run_at,
  (SELECT r.started_at::timestamptz FROM runs r WHERE r.ledger_key = w.ledger_key AND r.workspace_key = w.workspace_key
   ORDER BY r.run_key DESC LIMIT 1) AS last_attempt_at,
  (SELECT r.status FROM runs r WHERE r.ledger_key = w.ledger_key AND r.workspace_key = w.workspace_key
   ORDER BY r.run_key DESC LIMIT 1) AS last_status,
  (SELECT min(p.period) FROM periods p WHERE p.ledger_key = w.ledger_key AND p.workspace_key = w.workspace_key
     AND p.covered_run_key IS NOT NULL) AS covers_from,
  (SELECT max(p.period) FROM periods p WHERE p.ledger_key = w.ledger_key AND p.workspace_key = w.workspace_key
     AND p.covered_run_key IS NOT NULL) AS covers_to
FROM counted_workspaces w
JOIN ledgers l ON l.ledger_key = w.ledger_key;
--> statement-breakpoint
CREATE OR REPLACE VIEW finance_month_to_date AS
WITH months AS MATERIALIZED (
  SELECT n.*,
    -- From where last month's figures are read: as they stand, as they were closed, or as they had been read by then.
    CASE WHEN n.compared_at >= n.period AND n.previous_closed_seq IS NULL THEN n.period_key - 1 END AS state_key,
    CASE WHEN n.compared_at >= n.period AND n.previous_closed_seq IS NOT NULL THEN n.period_key - 1 END AS closed_key,
    CASE WHEN n.compared_at < n.period AND n.read_at IS NOT NULL THEN n.period_key - 1 END AS entries_key
  FROM (
    SELECT m.*,
      (SELECT max(r.finished_at) FROM runs r
       WHERE r.ledger_key = m.ledger_key AND r.workspace_key = m.workspace_key AND r.applied_seq IS NOT NULL
         AND r.finished_at <= m.compared_at
         AND r.finished_at >= to_char(m.compared_at::timestamptz AT TIME ZONE 'UTC' - interval '36 hours', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
         AND r.from_period <= m.previous AND r.to_period >= m.previous) AS read_at,
      (SELECT max(x.entry_id) FROM (
         SELECT r.first_entry_id + r.entries - 1 AS entry_id FROM runs r
         WHERE r.ledger_key = m.ledger_key AND r.workspace_key = m.workspace_key AND r.applied_seq IS NOT NULL
           AND r.finished_at <= m.compared_at AND r.first_entry_id IS NOT NULL ORDER BY r.finished_at DESC LIMIT 100) x) AS last_entry_id
    FROM (
      SELECT s.*, to_char(s.start - interval '1 month', 'YYYY-MM') AS previous,
        extract(epoch FROM s.read - s.start)::double precision AS elapsed,
        extract(epoch FROM s.start + interval '1 month' - s.start)::double precision AS length,
        -- The difference of two times is exact; the same as seconds would be rounded.
        least(s.period || '-01T00:00:00.000Z', to_char(s.start - interval '1 month' + (s.read - s.start), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
          AS compared_at
      FROM (
        SELECT p.ledger_key, p.period_key, p.workspace_key, p.period, r.finished_at AS as_of, q.closed_seq AS previous_closed_seq,
          (p.period || '-01')::timestamp AS start, r.finished_at::timestamptz AT TIME ZONE 'UTC' AS read
        FROM periods p
        JOIN runs r ON r.ledger_key = p.ledger_key AND r.run_key = p.covered_run_key
        LEFT JOIN periods q ON q.ledger_key = p.ledger_key AND q.period_key = p.period_key - 1
        WHERE p.closed_seq IS NULL
          AND p.period_end >= to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) s) m) n)
SELECT l.ledger_id, z.workspace_id, z.tenant_id, z.period, z.credits_used, z.previous_credits_same_point,
  z.credits_used - z.previous_credits_same_point AS credits_change,
  CASE WHEN z.previous_credits_same_point <> 0
    THEN round(100.0 * (z.credits_used - z.previous_credits_same_point) / abs(z.previous_credits_same_point), 2) END AS change_percent,
  -- Whole numbers from 2^52 on are not rounded, those beyond 64 bits are the largest.
  CASE WHEN z.elapsed < 86400 THEN NULL
    WHEN abs(z.projected) < 4503599627370496 THEN (sign(z.projected) * floor(abs(z.projected) + 0.5))::bigint
    WHEN z.projected >= 9223372036854775807 THEN 9223372036854775807
    WHEN z.projected <= -9223372036854775808 THEN -9223372036854775808
    ELSE z.projected::bigint END AS projection,
  z.request_count, z.as_of::timestamptz AS as_of, z.compared_at::timestamptz AS compared_at
FROM (
  SELECT m.ledger_key, w.workspace_id, t.tenant_id, m.period, u.credits_used, u.request_count, m.as_of, m.compared_at, m.elapsed,
    CASE WHEN m.elapsed >= 86400 THEN u.credits_used::double precision * (m.length / m.elapsed) END AS projected,
    CASE WHEN coalesce(m.state_key, m.closed_key, m.entries_key) IS NOT NULL
      THEN coalesce(v.credits_used, x.credits_used, e.credits_after, 0) END AS previous_credits_same_point
  FROM months m
  JOIN counted_workspaces w ON w.ledger_key = m.ledger_key AND w.workspace_key = m.workspace_key
  JOIN tenant_usage u ON u.ledger_key = m.ledger_key AND u.period_key = m.period_key
  JOIN tenants t ON t.ledger_key = m.ledger_key AND t.tenant_key = u.tenant_key AND t.workspace_key = m.workspace_key
  LEFT JOIN tenant_usage v ON v.ledger_key = m.ledger_key AND v.period_key = m.state_key AND v.tenant_key = u.tenant_key
  LEFT JOIN closed_usage x ON x.ledger_key = m.ledger_key AND x.period_key = m.closed_key AND x.tenant_key = u.tenant_key
  LEFT JOIN LATERAL (SELECT f.credits_after FROM usage_entries f
    WHERE f.ledger_key = m.ledger_key AND f.period_key = m.entries_key AND f.tenant_key = u.tenant_key
      AND f.entry_id <= m.last_entry_id ORDER BY f.entry_id DESC LIMIT 1) e ON true
  UNION ALL
  SELECT m.ledger_key, w.workspace_id, t.tenant_id, m.period, 0, 0, m.as_of, m.compared_at, m.elapsed,
    CASE WHEN m.elapsed >= 86400 THEN 0::double precision END,
    coalesce(v.credits_used, x.credits_used, e.credits_after)
  FROM months m
  JOIN counted_workspaces w ON w.ledger_key = m.ledger_key AND w.workspace_key = m.workspace_key
  JOIN tenant_usage q ON q.ledger_key = m.ledger_key AND q.period_key = m.period_key - 1
  JOIN tenants t ON t.ledger_key = m.ledger_key AND t.tenant_key = q.tenant_key AND t.workspace_key = m.workspace_key
  LEFT JOIN tenant_usage v ON v.ledger_key = m.ledger_key AND v.period_key = m.state_key AND v.tenant_key = q.tenant_key
  LEFT JOIN closed_usage x ON x.ledger_key = m.ledger_key AND x.period_key = m.closed_key AND x.tenant_key = q.tenant_key
  LEFT JOIN LATERAL (SELECT f.credits_after FROM usage_entries f
    WHERE f.ledger_key = m.ledger_key AND f.period_key = m.entries_key AND f.tenant_key = q.tenant_key
      AND f.entry_id <= m.last_entry_id ORDER BY f.entry_id DESC LIMIT 1) e ON true
  WHERE coalesce(v.credits_used, x.credits_used, e.credits_after, 0) <> 0
    AND NOT EXISTS (SELECT 1 FROM tenant_usage u
      WHERE u.ledger_key = m.ledger_key AND u.period_key = m.period_key AND u.tenant_key = q.tenant_key)) z
JOIN ledgers l ON l.ledger_key = z.ledger_key;
--> statement-breakpoint
CREATE OR REPLACE VIEW finance_period_totals AS
SELECT l.ledger_id, w.workspace_id, p.period,
  CASE WHEN p.closed_seq IS NULL THEN u.tenants ELSE e.tenants END AS tenants,
  CASE WHEN p.closed_seq IS NULL THEN u.credits_used ELSE e.credits_used END AS credits_used,
  CASE WHEN p.closed_seq IS NULL THEN u.request_count ELSE e.request_count END AS request_count,
  CASE WHEN p.closed_seq IS NOT NULL THEN 'closed'
    WHEN p.period_end >= to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') THEN 'open' ELSE 'settling' END AS state,
  coalesce(r.started_at > p.period_end, false) AS complete,
  r.finished_at::timestamptz AS as_of,
  (SELECT coalesce(sum(a.credits_delta), 0)::bigint FROM adjustments a
   WHERE a.ledger_key = p.ledger_key AND a.booked_period_key = p.period_key) AS adjustment_credits,
  (SELECT coalesce(sum(a.requests_delta), 0)::bigint FROM adjustments a
   WHERE a.ledger_key = p.ledger_key AND a.booked_period_key = p.period_key) AS adjustment_requests,
  e.at::timestamptz AS closed_at, e.actor AS closed_by, e.note AS close_note, (e.forced <> 0) AS close_forced
FROM periods p
JOIN ledgers l ON l.ledger_key = p.ledger_key
JOIN counted_workspaces w ON w.ledger_key = p.ledger_key AND w.workspace_key = p.workspace_key
LEFT JOIN period_events e ON e.ledger_key = p.ledger_key AND e.event_seq = p.closed_seq
LEFT JOIN runs r ON r.ledger_key = p.ledger_key AND r.run_key = p.covered_run_key
-- Read once for all three sums.
LEFT JOIN LATERAL (SELECT count(*) FILTER (WHERE o.withdrawn = 0) AS tenants,
    coalesce(sum(o.credits_used), 0)::bigint AS credits_used, coalesce(sum(o.request_count), 0)::bigint AS request_count
  FROM tenant_usage o
  WHERE o.ledger_key = p.ledger_key AND o.period_key = p.period_key AND p.closed_seq IS NULL) u ON true;
--> statement-breakpoint
CREATE OR REPLACE VIEW finance_tenants AS
SELECT l.ledger_id, w.workspace_id, t.tenant_id, n.display_name, n.external_ref,
  (SELECT r.finished_at::timestamptz FROM periods p
   JOIN tenant_usage u ON u.ledger_key = p.ledger_key AND u.period_key = p.period_key AND u.tenant_key = t.tenant_key
   JOIN runs r ON r.ledger_key = p.ledger_key AND r.run_key = u.first_run_key
   WHERE p.ledger_key = t.ledger_key AND p.workspace_key = t.workspace_key ORDER BY u.first_run_key LIMIT 1) AS first_seen_at,
  -- Postgres has no U+0000.
  regexp_replace(n.labels, '(?<!\\)((?:\\\\)*)\\u0000', '\1␀0', 'g')::jsonb AS labels, n.recorded_at::timestamptz AS named_at
FROM tenants t
JOIN ledgers l ON l.ledger_key = t.ledger_key
JOIN counted_workspaces w ON w.ledger_key = t.ledger_key AND w.workspace_key = t.workspace_key
LEFT JOIN tenant_names n ON n.ledger_key = t.ledger_key AND n.tenant_key = t.tenant_key
  AND n.after_seq = (SELECT max(m.after_seq) FROM tenant_names m WHERE m.ledger_key = t.ledger_key AND m.tenant_key = t.tenant_key);
