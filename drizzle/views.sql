-- The public contract: documented column by column in docs/ledger.md, changed only under a new name.
-- The program makes them anew with every migration, so this file says what they are now. The copy in Postgres has the same
-- text (src/publish/schema.ts): each derived table has a name, and a number of one ledger joins beside a key.

CREATE VIEW finance_adjustments AS
SELECT w.workspace_id, t.tenant_id, p.period AS corrects_period, b.period AS booked_period, a.credits_delta, a.requests_delta,
  a.recorded_at, r.run_id, CASE WHEN a.event_seq IS NULL THEN 'correction' ELSE 'reopen' END AS kind, a.entry_id
FROM adjustments a
JOIN periods p ON p.period_key = a.corrects_period_key
JOIN periods b ON b.period_key = a.booked_period_key
JOIN workspaces w ON w.workspace_key = p.workspace_key
JOIN tenants t ON t.tenant_key = a.tenant_key
LEFT JOIN runs r ON r.run_key = a.run_key;

CREATE VIEW finance_alert_events AS
SELECT a.alert_id, w.workspace_id, x.revision, x.at, x.change AS event, x.level, x.state, x.current_credits, x.actor,
  x.silent_because AS muted_because, x.evidence AS figures
FROM alert_transitions x
JOIN alerts a ON a.alert_key = x.alert_key
LEFT JOIN workspaces w ON w.workspace_key = a.workspace_key
WHERE a.workspace_key IS NULL OR w.workspace_key IS NOT NULL;

CREATE VIEW finance_alert_messages AS
SELECT a.alert_id, w.workspace_id, d.channel, d.notification_id, m.revision, m.event, m.level, d.form, d.created_at AS made_at,
  CASE d.state WHEN 'fresh' THEN 'under_way' WHEN 'trying' THEN 'under_way' WHEN 'possible' THEN 'unknown'
    WHEN 'dead' THEN 'given_up' ELSE d.state END AS outcome,
  d.attempts, d.delivered_at, d.last_error
FROM delivery_members m
JOIN deliveries d ON d.delivery_key = m.delivery_key
JOIN alerts a ON a.alert_key = m.alert_key
LEFT JOIN workspaces w ON w.workspace_key = a.workspace_key
WHERE a.workspace_key IS NULL OR w.workspace_key IS NOT NULL;

CREATE VIEW finance_alerts AS
SELECT a.alert_id, w.workspace_id, t.tenant_id, p.period, a.rule, a.level, a.severity, a.state, a.notified_count,
  a.previous_credits, a.current_credits, a.threshold, a.first_fired_at, a.last_changed_at,
  a.previous_requests, a.current_requests, x.silent_because AS muted_because, a.cause
FROM alerts a
LEFT JOIN workspaces w ON w.workspace_key = a.workspace_key
LEFT JOIN alert_transitions x ON x.alert_key = a.alert_key AND x.revision = a.revision
LEFT JOIN tenants t ON t.tenant_key = a.tenant_key
LEFT JOIN periods p ON p.period_key = a.period_key
WHERE a.workspace_key IS NULL OR w.workspace_key IS NOT NULL;

CREATE VIEW finance_budgets AS
SELECT workspace_id, tenant_id, period, credits_used, budget_credits, used_minor, budget_minor, currency,
  CASE WHEN budget_minor IS NULL THEN round(100.0 * credits_used / budget_credits, 2)
    ELSE round(100.0 * used_minor / budget_minor, 2) END AS used_percent,
  projection, as_of
FROM (
  SELECT w.workspace_id, NULL AS tenant_id, p.period, f.credits_used, b.credits AS budget_credits, NULL AS used_minor,
    NULL AS budget_minor, NULL AS currency, f.as_of,
    -- Sums of projections may leave 64 bits, which as a double is no error.
    (SELECT CAST(round(sum(1.0 * m.projection)) AS INTEGER) FROM finance_month_to_date m
     WHERE m.workspace_id = w.workspace_id AND m.period = p.period) AS projection
  FROM budgets b
  JOIN workspaces w ON w.workspace_key = b.workspace_key AND w.ended_seq IS NULL
  JOIN periods p ON p.workspace_key = w.workspace_key AND p.closed_seq IS NULL
  JOIN finance_period_totals f ON f.workspace_id = w.workspace_id AND f.period = p.period AND f.state = 'open'
  WHERE b.tenant_glob IS NULL
  UNION ALL
  SELECT m.workspace_id, m.tenant_id, m.period, m.credits_used, b.credits,
    CASE WHEN b.amount_minor IS NOT NULL
      THEN (SELECT c.amount_minor FROM charges c JOIN rate_cards k ON k.card_key = c.card_key AND k.currency = b.currency
        WHERE c.period_key = p.period_key AND c.tenant_key = t.tenant_key) END,
    b.amount_minor, b.currency, m.as_of, m.projection
  FROM finance_month_to_date m
  JOIN workspaces w ON w.workspace_id = m.workspace_id
  JOIN periods p ON p.workspace_key = w.workspace_key AND p.period = m.period
  JOIN tenants t ON t.workspace_key = w.workspace_key AND t.tenant_id = m.tenant_id
  JOIN budgets b ON b.workspace_key = w.workspace_key AND b.place = (SELECT min(c.place) FROM budgets c
    WHERE c.workspace_key = w.workspace_key AND m.tenant_id GLOB c.tenant_glob)) budgeted
-- Without budgets, SQLite would compute the projections of all months for nothing.
WHERE EXISTS (SELECT 1 FROM budgets);

CREATE VIEW finance_charge_lines AS
SELECT workspace_id, tenant_id, period, line_number, kind, tier, credits, unit_credits, unit_price, amount_minor, currency, rate_card,
  corrects_period, entry_id, cause,
  CASE WHEN minor_units = 1 THEN CAST(amount_minor AS TEXT)
    ELSE CASE WHEN amount_minor < 0 THEN '-' ELSE '' END || (abs(amount_minor) / minor_units) || '.'
      || substr(CAST(minor_units + abs(amount_minor) - abs(amount_minor) / minor_units * minor_units AS TEXT), 2) END AS amount,
  CAST(CASE minor_units WHEN 1 THEN 0 WHEN 1000 THEN 3 WHEN 10000 THEN 4 WHEN 100 THEN 2 END AS bigint) AS currency_digits,
  CAST(amount_minor AS double precision) / minor_units AS amount_value, reason, requests
FROM (
  SELECT w.workspace_id, t.tenant_id, p.period, l.line_number, l.kind, l.tier, l.credits, l.unit_credits, l.unit_price,
    l.amount_minor, k.currency, k.minor_units, k.name AS rate_card, NULL AS corrects_period, NULL AS entry_id, NULL AS cause,
    NULL AS reason, l.requests
  FROM charge_lines l
  JOIN charges c ON c.period_key = l.period_key AND c.tenant_key = l.tenant_key
  JOIN rate_cards k ON k.card_key = c.card_key
  JOIN periods p ON p.period_key = l.period_key
  JOIN workspaces w ON w.workspace_key = p.workspace_key
  JOIN tenants t ON t.tenant_key = l.tenant_key AND t.workspace_key = w.workspace_key
  UNION ALL
  SELECT w.workspace_id, t.tenant_id, p.period, NULL AS line_number, 'correction' AS kind, NULL AS tier,
    CASE WHEN x.line_id IS NULL THEN x.credits_delta END AS credits, NULL AS unit_credits, NULL AS unit_price, x.amount_minor,
    coalesce(k.currency, m.currency) AS currency, coalesce(k.minor_units, m.minor_units) AS minor_units, k.name AS rate_card,
    q.period AS corrects_period, a.entry_id, x.cause, m.reason, NULL AS requests
  FROM charge_corrections x
  LEFT JOIN adjustments a ON a.adjustment_id = x.adjustment_id AND a.tenant_key = x.tenant_key
  LEFT JOIN rate_cards k ON k.card_key = x.card_key
  LEFT JOIN manual_lines m ON m.line_id = x.line_id AND m.tenant_key = x.tenant_key
  JOIN periods p ON p.period_key = x.booked_period_key
  JOIN periods q ON q.period_key = x.corrects_period_key
  JOIN workspaces w ON w.workspace_key = p.workspace_key
  JOIN tenants t ON t.tenant_key = x.tenant_key AND t.workspace_key = w.workspace_key
  UNION ALL
  SELECT w.workspace_id, t.tenant_id, p.period, NULL AS line_number, 'manual' AS kind, NULL AS tier, NULL AS credits,
    NULL AS unit_credits, NULL AS unit_price, m.amount_minor, m.currency, m.minor_units, NULL AS rate_card,
    NULL AS corrects_period, NULL AS entry_id, NULL AS cause, m.reason, NULL AS requests
  FROM manual_lines m
  JOIN periods p ON p.period_key = m.period_key
  JOIN workspaces w ON w.workspace_key = p.workspace_key
  JOIN tenants t ON t.tenant_key = m.tenant_key AND t.workspace_key = w.workspace_key
  WHERE m.after_seq < coalesce(p.closed_seq, 9223372036854775807)
    AND coalesce(m.revoked_after_seq, 9223372036854775807) >= coalesce(p.closed_seq, 9223372036854775807)
  UNION ALL
  SELECT w.workspace_id, t.tenant_id, p.period, 1 AS line_number, 'usage' AS kind, c.tier, c.credits_used AS credits,
    c.unit_credits, c.unit_price, c.amount_minor, k.currency, k.minor_units, k.name AS rate_card, NULL AS corrects_period,
    NULL AS entry_id, NULL AS cause, NULL AS reason, NULL AS requests
  FROM charges c
  JOIN rate_cards k ON k.card_key = c.card_key
  JOIN periods p ON p.period_key = c.period_key
  JOIN workspaces w ON w.workspace_key = p.workspace_key
  JOIN tenants t ON t.tenant_key = c.tenant_key AND t.workspace_key = w.workspace_key
  WHERE c.unit_price IS NOT NULL) billed;

CREATE VIEW finance_charges AS
SELECT workspace_id, tenant_id, period, credits_used, amount_minor, currency, rate_card, charge_minor, correction_minor,
  CASE WHEN minor_units = 1 THEN CAST(amount_minor AS TEXT)
    ELSE CASE WHEN amount_minor < 0 THEN '-' ELSE '' END || (abs(amount_minor) / minor_units) || '.'
      || substr(CAST(minor_units + abs(amount_minor) - abs(amount_minor) / minor_units * minor_units AS TEXT), 2) END AS amount,
  CAST(CASE minor_units WHEN 1 THEN 0 WHEN 1000 THEN 3 WHEN 10000 THEN 4 WHEN 100 THEN 2 END AS bigint) AS currency_digits,
  CAST(amount_minor AS double precision) / minor_units AS amount_value, display_name, external_ref, invoice_number,
  manual_minor, statement_number
FROM (
  SELECT workspace_id, tenant_id, period, credits_used, charge_minor + correction_minor + manual_minor AS amount_minor, currency,
    rate_card, charge_minor, correction_minor, manual_minor, minor_units, display_name, external_ref, invoice_number,
    statement_number
  FROM (
    SELECT w.workspace_id, t.tenant_id, p.period, c.credits_used, c.amount_minor AS charge_minor, k.currency,
      k.name AS rate_card, k.minor_units, n.display_name, n.external_ref,
      (SELECT CASE WHEN count(*) = count(x.amount_minor) THEN CAST(coalesce(sum(x.amount_minor), 0) AS bigint) END
       FROM charge_corrections x
       LEFT JOIN rate_cards y ON y.card_key = x.card_key
       LEFT JOIN manual_lines m ON m.line_id = x.line_id AND m.tenant_key = x.tenant_key
       WHERE x.booked_period_key = c.period_key AND x.tenant_key = c.tenant_key
         AND coalesce(y.currency, m.currency) = k.currency) AS correction_minor,
      (SELECT CAST(coalesce(sum(m.amount_minor), 0) AS bigint) FROM manual_lines m
       WHERE m.period_key = c.period_key AND m.tenant_key = c.tenant_key AND m.currency = k.currency
         AND m.after_seq < coalesce(p.closed_seq, 9223372036854775807)
         AND coalesce(m.revoked_after_seq, 9223372036854775807) >= coalesce(p.closed_seq, 9223372036854775807)) AS manual_minor,
      (SELECT v.number FROM invoice_numbers v WHERE v.close_seq = p.closed_seq AND v.tenant_key = c.tenant_key AND v.currency = k.currency
       AND v.period_key = p.period_key ORDER BY v.act_seq DESC LIMIT 1) AS invoice_number,
      (SELECT y.number FROM statement_numbers y WHERE y.close_seq = p.closed_seq AND y.tenant_key = c.tenant_key
       AND y.period_key = p.period_key) AS statement_number
    FROM charges c
    JOIN rate_cards k ON k.card_key = c.card_key
    JOIN periods p ON p.period_key = c.period_key
    JOIN workspaces w ON w.workspace_key = p.workspace_key
    JOIN tenants t ON t.tenant_key = c.tenant_key AND t.workspace_key = w.workspace_key
    LEFT JOIN tenant_names n ON n.tenant_key = t.tenant_key AND n.after_seq = (SELECT max(m.after_seq) FROM tenant_names m
      WHERE m.tenant_key = t.tenant_key AND m.after_seq < coalesce(p.closed_seq, 9223372036854775807))) charged
  UNION ALL
  SELECT w.workspace_id, t.tenant_id, p.period, 0 AS credits_used,
    CASE WHEN count(*) = count(b.correction_minor) THEN CAST(sum(b.correction_minor + b.manual_minor) AS bigint) END AS amount_minor,
    b.currency, max(b.rate_card) AS rate_card, 0 AS charge_minor,
    CASE WHEN count(*) = count(b.correction_minor) THEN CAST(sum(b.correction_minor) AS bigint) END AS correction_minor,
    CAST(sum(b.manual_minor) AS bigint) AS manual_minor, max(b.minor_units) AS minor_units,
    max(n.display_name) AS display_name, max(n.external_ref) AS external_ref,
    max((SELECT v.number FROM invoice_numbers v WHERE v.close_seq = p.closed_seq AND v.tenant_key = b.tenant_key AND v.currency = b.currency
       AND v.period_key = p.period_key ORDER BY v.act_seq DESC LIMIT 1)) AS invoice_number,
    max((SELECT y.number FROM statement_numbers y WHERE y.close_seq = p.closed_seq AND y.tenant_key = b.tenant_key
       AND y.period_key = p.period_key)) AS statement_number
  FROM (
    SELECT x.tenant_key, x.booked_period_key AS period_key, coalesce(k.currency, m.currency) AS currency,
      coalesce(k.minor_units, m.minor_units) AS minor_units, k.name AS rate_card, x.amount_minor AS correction_minor,
      0 AS manual_minor
    FROM charge_corrections x
    LEFT JOIN rate_cards k ON k.card_key = x.card_key
    LEFT JOIN manual_lines m ON m.line_id = x.line_id AND m.tenant_key = x.tenant_key
    UNION ALL
    SELECT m.tenant_key, m.period_key, m.currency, m.minor_units, NULL AS rate_card, 0 AS correction_minor,
      m.amount_minor AS manual_minor
    FROM manual_lines m
    JOIN periods p ON p.period_key = m.period_key
    WHERE m.after_seq < coalesce(p.closed_seq, 9223372036854775807)
      AND coalesce(m.revoked_after_seq, 9223372036854775807) >= coalesce(p.closed_seq, 9223372036854775807)) b
  JOIN periods p ON p.period_key = b.period_key
  JOIN workspaces w ON w.workspace_key = p.workspace_key
  JOIN tenants t ON t.tenant_key = b.tenant_key AND t.workspace_key = w.workspace_key
  LEFT JOIN tenant_names n ON n.tenant_key = t.tenant_key AND n.after_seq = (SELECT max(m.after_seq) FROM tenant_names m
    WHERE m.tenant_key = t.tenant_key AND m.after_seq < coalesce(p.closed_seq, 9223372036854775807))
  WHERE b.currency IS NOT NULL AND NOT EXISTS (SELECT 1 FROM charges c JOIN rate_cards y ON y.card_key = c.card_key
    WHERE c.period_key = b.period_key AND c.tenant_key = b.tenant_key AND y.currency = b.currency)
  GROUP BY w.workspace_id, t.tenant_id, p.period, b.currency) billed;

CREATE VIEW finance_closes AS
SELECT w.workspace_id, p.period, e.action, e.at, e.actor, e.note, e.forced, e.overridden, e.tenants, e.credits_used,
  e.request_count, e.event_seq, e.previous_digest, e.digest, e.system_user
FROM period_events e
JOIN periods p ON p.period_key = e.period_key
JOIN workspaces w ON w.workspace_key = e.workspace_key;

CREATE VIEW finance_daily AS
SELECT w.workspace_id, t.tenant_id, p.period, substr(r.finished_at, 1, 10) AS day, e.credits_after AS credits_used,
  -- Less what stood at the end of an earlier day; an opening has none before it. Asked for only where it is wanted.
  CASE WHEN e.kind = 1 THEN e.credits_after ELSE e.credits_after - coalesce((SELECT g.credits_after
    FROM usage_entries g JOIN runs s ON s.run_key = g.run_key
    WHERE g.period_key = e.period_key AND g.tenant_key = e.tenant_key AND g.entry_id < e.entry_id
      AND s.finished_at < substr(r.finished_at, 1, 10) ORDER BY g.entry_id DESC LIMIT 1), 0) END AS credits_increase,
  CASE WHEN e.kind = 1 THEN e.requests_after ELSE e.requests_after - coalesce((SELECT g.requests_after
    FROM usage_entries g JOIN runs s ON s.run_key = g.run_key
    WHERE g.period_key = e.period_key AND g.tenant_key = e.tenant_key AND g.entry_id < e.entry_id
      AND s.finished_at < substr(r.finished_at, 1, 10) ORDER BY g.entry_id DESC LIMIT 1), 0) END AS request_increase,
  e.requests_after AS request_count
FROM usage_entries e
JOIN periods p ON p.period_key = e.period_key
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN tenants t ON t.tenant_key = e.tenant_key AND t.workspace_key = w.workspace_key
JOIN runs r ON r.run_key = e.run_key
-- No later entry of the same day.
WHERE NOT EXISTS (SELECT 1 FROM runs s WHERE s.run_key = (SELECT n.run_key FROM usage_entries n
    WHERE n.period_key = e.period_key AND n.tenant_key = e.tenant_key AND n.entry_id > e.entry_id ORDER BY n.entry_id LIMIT 1)
  AND substr(s.finished_at, 1, 10) <= substr(r.finished_at, 1, 10));

CREATE VIEW finance_freshness AS
SELECT w.workspace_id,
  (SELECT r.finished_at FROM runs r WHERE r.workspace_key = w.workspace_key AND r.status = 'applied' ORDER BY r.run_key DESC LIMIT 1) AS last_complete_run_at,
  (SELECT r.started_at FROM runs r WHERE r.workspace_key = w.workspace_key ORDER BY r.run_key DESC LIMIT 1) AS last_attempt_at,
  (SELECT r.status FROM runs r WHERE r.workspace_key = w.workspace_key ORDER BY r.run_key DESC LIMIT 1) AS last_status,
  (SELECT min(p.period) FROM periods p WHERE p.workspace_key = w.workspace_key AND p.covered_run_key IS NOT NULL) AS covers_from,
  (SELECT max(p.period) FROM periods p WHERE p.workspace_key = w.workspace_key AND p.covered_run_key IS NOT NULL) AS covers_to
FROM workspaces w
WHERE w.ended_seq IS NULL;

CREATE VIEW finance_history AS
SELECT e.entry_id, r.run_id, r.finished_at AS recorded_at, w.workspace_id, t.tenant_id, p.period,
  CASE e.kind WHEN 1 THEN 'opened' WHEN 2 THEN 'increased' WHEN 3 THEN 'decreased' WHEN 4 THEN 'withdrawn' WHEN 5 THEN 'restored' END AS kind,
  e.credits_delta, e.requests_delta, e.credits_after, e.requests_after
FROM usage_entries e
JOIN periods p ON p.period_key = e.period_key
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN tenants t ON t.tenant_key = e.tenant_key AND t.workspace_key = w.workspace_key
LEFT JOIN runs r ON r.run_key = e.run_key;

CREATE VIEW finance_lines AS
SELECT workspace_id, tenant_id, period, line_id, amount_minor, currency, reason, actor, recorded_at, revoked_at, revoked_by,
  revoked_because,
  CASE WHEN minor_units = 1 THEN CAST(amount_minor AS TEXT)
    ELSE CASE WHEN amount_minor < 0 THEN '-' ELSE '' END || (abs(amount_minor) / minor_units) || '.'
      || substr(CAST(minor_units + abs(amount_minor) - abs(amount_minor) / minor_units * minor_units AS TEXT), 2) END AS amount,
  CAST(CASE minor_units WHEN 1 THEN 0 WHEN 1000 THEN 3 WHEN 10000 THEN 4 WHEN 100 THEN 2 END AS bigint) AS currency_digits,
  CAST(amount_minor AS double precision) / minor_units AS amount_value
FROM (
  SELECT w.workspace_id, t.tenant_id, p.period, m.line_id, m.amount_minor, m.currency, m.minor_units, m.reason, m.actor,
    m.recorded_at, m.revoked_at, m.revoked_by, m.revoked_because
  FROM manual_lines m
  JOIN periods p ON p.period_key = m.period_key
  JOIN workspaces w ON w.workspace_key = p.workspace_key
  JOIN tenants t ON t.tenant_key = m.tenant_key AND t.workspace_key = w.workspace_key) line;

-- Revenue is what all documents about the month come to, wherever they are booked.
CREATE VIEW finance_margin AS
SELECT workspace_id, tenant_id, period, currency, revenue_minor, cost_minor, margin_minor,
  CASE WHEN minor_units = 1 THEN CAST(revenue_minor AS TEXT)
    ELSE CASE WHEN revenue_minor < 0 THEN '-' ELSE '' END || (abs(revenue_minor) / minor_units) || '.'
      || substr(CAST(minor_units + abs(revenue_minor) - abs(revenue_minor) / minor_units * minor_units AS TEXT), 2) END AS revenue,
  CASE WHEN minor_units = 1 THEN CAST(cost_minor AS TEXT)
    ELSE CASE WHEN cost_minor < 0 THEN '-' ELSE '' END || (abs(cost_minor) / minor_units) || '.'
      || substr(CAST(minor_units + abs(cost_minor) - abs(cost_minor) / minor_units * minor_units AS TEXT), 2) END AS cost,
  CASE WHEN minor_units = 1 THEN CAST(margin_minor AS TEXT)
    ELSE CASE WHEN margin_minor < 0 THEN '-' ELSE '' END || (abs(margin_minor) / minor_units) || '.'
      || substr(CAST(minor_units + abs(margin_minor) - abs(margin_minor) / minor_units * minor_units AS TEXT), 2) END AS margin,
  CASE WHEN revenue_minor > 0 THEN round(100.0 * margin_minor / revenue_minor, 2) END AS margin_percent,
  CAST(margin_minor AS double precision) / minor_units AS margin_value,
  CAST(CASE minor_units WHEN 1 THEN 0 WHEN 1000 THEN 3 WHEN 10000 THEN 4 WHEN 100 THEN 2 END AS bigint) AS currency_digits,
  revenue_currency, no_margin, rate_card, cost_card
FROM (
  SELECT r.*, CASE WHEN no_margin IS NULL THEN revenue_minor - cost_minor END AS margin_minor
  FROM (
    SELECT s.*, CASE WHEN revenue_currency <> currency THEN 'other currency'
      WHEN is_uncharged THEN 'no charge'
      WHEN revenue_minor IS NULL OR cost_minor IS NULL THEN 'no price' END AS no_margin
    FROM (
      SELECT w.workspace_id, t.tenant_id, p.period, k.currency, k.minor_units, k.name AS cost_card, c.amount_minor AS cost_minor,
        y.currency AS revenue_currency, y.name AS rate_card, h.card_key IS NULL AND b.period_key IS NULL AS is_uncharged,
        CASE WHEN h.card_key IS NULL THEN 0 WHEN y.currency = k.currency THEN h.amount_minor END
        + CASE WHEN b.period_key IS NULL THEN 0 WHEN b.lowest = k.currency AND b.highest = k.currency THEN b.amount_minor END
          AS revenue_minor
      FROM costs c
      JOIN rate_cards k ON k.card_key = c.card_key
      JOIN periods p ON p.period_key = c.period_key
      JOIN workspaces w ON w.workspace_key = p.workspace_key
      JOIN tenants t ON t.tenant_key = c.tenant_key AND t.workspace_key = w.workspace_key
      LEFT JOIN charges h ON h.period_key = c.period_key AND h.tenant_key = c.tenant_key
      LEFT JOIN rate_cards y ON y.card_key = h.card_key
      LEFT JOIN (
        SELECT period_key, tenant_key, min(currency) AS lowest, max(currency) AS highest,
          CASE WHEN count(*) = count(amount_minor) THEN CAST(sum(amount_minor) AS bigint) END AS amount_minor
        FROM (
          SELECT x.tenant_key, x.corrects_period_key AS period_key, coalesce(z.currency, m.currency) AS currency, x.amount_minor
          FROM charge_corrections x
          LEFT JOIN rate_cards z ON z.card_key = x.card_key
          LEFT JOIN manual_lines m ON m.line_id = x.line_id AND m.tenant_key = x.tenant_key
          UNION ALL
          SELECT m.tenant_key, m.period_key, m.currency, m.amount_minor
          FROM manual_lines m
          JOIN periods q ON q.period_key = m.period_key
          WHERE m.after_seq < coalesce(q.closed_seq, 9223372036854775807)
            AND coalesce(m.revoked_after_seq, 9223372036854775807) >= coalesce(q.closed_seq, 9223372036854775807)) line
        GROUP BY period_key, tenant_key) b ON b.period_key = c.period_key AND b.tenant_key = c.tenant_key) s) r) n;

CREATE VIEW finance_month_to_date AS
WITH months AS MATERIALIZED (
  SELECT n.*,
    -- From where last month's figures are read: as they stand, as they were closed, or as they had been read by then.
    CASE WHEN n.compared_at >= n.period AND n.previous_closed_seq IS NULL THEN n.period_key - 1 END AS state_key,
    CASE WHEN n.compared_at >= n.period AND n.previous_closed_seq IS NOT NULL THEN n.period_key - 1 END AS closed_key,
    CASE WHEN n.compared_at < n.period AND n.read_at IS NOT NULL THEN n.period_key - 1 END AS entries_key
  FROM (
    SELECT m.*,
      (SELECT max(r.finished_at) FROM runs r
       WHERE r.workspace_key = m.workspace_key AND r.applied_seq IS NOT NULL AND r.finished_at <= m.compared_at
         AND r.finished_at >= strftime('%Y-%m-%dT%H:%M:%fZ', m.compared_at, '-36 hours')
         AND r.from_period <= m.previous AND r.to_period >= m.previous) AS read_at,
      -- Among the latest by then the chain says which was last: a clock may have been ahead.
      (SELECT max(x.entry_id) FROM (
         SELECT r.first_entry_id + r.entries - 1 AS entry_id FROM runs r
         WHERE r.workspace_key = m.workspace_key AND r.applied_seq IS NOT NULL AND r.finished_at <= m.compared_at
           AND r.first_entry_id IS NOT NULL ORDER BY r.finished_at DESC LIMIT 100) x) AS last_entry_id
    FROM (
      SELECT s.*,
        min(s.period || '-01T00:00:00.000Z',
          strftime('%Y-%m-%dT%H:%M:%fZ', s.period || '-01', '-1 month', s.elapsed || ' seconds')) AS compared_at
      FROM (
        SELECT p.period_key, p.workspace_key, p.period, r.finished_at AS as_of, q.closed_seq AS previous_closed_seq,
          strftime('%Y-%m', p.period || '-01', '-1 month') AS previous,
          -- To the millisecond, exact until the division.
          (1000 * (CAST(strftime('%s', r.finished_at) AS INTEGER) - CAST(strftime('%s', p.period || '-01') AS INTEGER))
            + CAST(substr(strftime('%f', r.finished_at), 4) AS INTEGER)) / 1000.0 AS elapsed,
          CAST(strftime('%s', p.period || '-01', '+1 month') AS INTEGER) - CAST(strftime('%s', p.period || '-01') AS INTEGER) AS length
        FROM periods p
        JOIN workspaces w ON w.workspace_key = p.workspace_key AND w.ended_seq IS NULL
        JOIN runs r ON r.run_key = p.covered_run_key
        LEFT JOIN periods q ON q.period_key = p.period_key - 1
        WHERE p.closed_seq IS NULL AND p.period_end >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) s) m) n)
SELECT workspace_id, tenant_id, period, credits_used, previous_credits_same_point,
  credits_used - previous_credits_same_point AS credits_change,
  CASE WHEN previous_credits_same_point <> 0
    THEN round(100.0 * (credits_used - previous_credits_same_point) / abs(previous_credits_same_point), 2) END AS change_percent,
  CASE WHEN elapsed >= 86400 THEN CAST(round(credits_used * (1.0 * length / elapsed)) AS INTEGER) END AS projection,
  request_count, as_of, compared_at
FROM (
  SELECT w.workspace_id, t.tenant_id, m.period, u.credits_used, u.request_count, m.as_of, m.compared_at, m.elapsed, m.length,
    CASE WHEN coalesce(m.state_key, m.closed_key, m.entries_key) IS NOT NULL
      THEN coalesce(v.credits_used, x.credits_used, e.credits_after, 0) END AS previous_credits_same_point
  FROM months m
  JOIN workspaces w ON w.workspace_key = m.workspace_key
  JOIN tenant_usage u ON u.period_key = m.period_key
  JOIN tenants t ON t.tenant_key = u.tenant_key AND t.workspace_key = m.workspace_key
  LEFT JOIN tenant_usage v ON v.period_key = m.state_key AND v.tenant_key = u.tenant_key
  LEFT JOIN closed_usage x ON x.period_key = m.closed_key AND x.tenant_key = u.tenant_key
  LEFT JOIN usage_entries e ON e.period_key = m.entries_key AND e.tenant_key = u.tenant_key
    AND e.entry_id = (SELECT max(f.entry_id) FROM usage_entries f
      WHERE f.period_key = m.entries_key AND f.tenant_key = u.tenant_key AND f.entry_id <= m.last_entry_id)
  UNION ALL
  -- Who had credits at that point of last month and has no record yet.
  SELECT w.workspace_id, t.tenant_id, m.period, 0, 0, m.as_of, m.compared_at, m.elapsed, m.length,
    coalesce(v.credits_used, x.credits_used, e.credits_after)
  FROM months m
  JOIN workspaces w ON w.workspace_key = m.workspace_key
  JOIN tenant_usage q ON q.period_key = m.period_key - 1
  JOIN tenants t ON t.tenant_key = q.tenant_key AND t.workspace_key = m.workspace_key
  LEFT JOIN tenant_usage v ON v.period_key = m.state_key AND v.tenant_key = q.tenant_key
  LEFT JOIN closed_usage x ON x.period_key = m.closed_key AND x.tenant_key = q.tenant_key
  LEFT JOIN usage_entries e ON e.period_key = m.entries_key AND e.tenant_key = q.tenant_key
    AND e.entry_id = (SELECT max(f.entry_id) FROM usage_entries f
      WHERE f.period_key = m.entries_key AND f.tenant_key = q.tenant_key AND f.entry_id <= m.last_entry_id)
  WHERE coalesce(v.credits_used, x.credits_used, e.credits_after, 0) <> 0
    AND NOT EXISTS (SELECT 1 FROM tenant_usage u WHERE u.period_key = m.period_key AND u.tenant_key = q.tenant_key)) z;

CREATE VIEW finance_outlet_events AS
SELECT o.outlet, o.entry_id, w.workspace_id, t.tenant_id, p.period, e.credits_delta, e.requests_delta, o.state, o.reason, o.since,
  o.settled_at, o.settled_by, o.note
FROM outlet_events o
JOIN usage_entries e ON e.entry_id = o.entry_id
JOIN periods p ON p.period_key = e.period_key
JOIN workspaces w ON w.workspace_key = p.workspace_key
JOIN tenants t ON t.tenant_key = e.tenant_key;

CREATE VIEW finance_period_changes AS
SELECT w.workspace_id, t.tenant_id, p.period, u.credits_used, CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END AS previous_credits,
  u.credits_used - CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END AS credits_change,
  CASE WHEN CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END <> 0
    THEN round(100.0 * (u.credits_used - CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END) / abs(CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END), 2) END AS change_percent,
  u.request_count, CASE WHEN q.closed_seq IS NULL THEN v.request_count ELSE x.request_count END AS previous_requests
FROM tenant_usage u
JOIN periods p ON p.period_key = u.period_key AND p.closed_seq IS NULL
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN tenants t ON t.tenant_key = u.tenant_key AND t.workspace_key = w.workspace_key
LEFT JOIN periods q ON q.period_key = u.period_key - 1
LEFT JOIN tenant_usage v ON v.period_key = u.period_key - 1 AND v.tenant_key = u.tenant_key
LEFT JOIN closed_usage x ON x.period_key = u.period_key - 1 AND x.tenant_key = u.tenant_key
UNION ALL
SELECT w.workspace_id, t.tenant_id, p.period, u.credits_used, CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END AS previous_credits,
  u.credits_used - CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END AS credits_change,
  CASE WHEN CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END <> 0
    THEN round(100.0 * (u.credits_used - CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END) / abs(CASE WHEN q.closed_seq IS NULL THEN v.credits_used ELSE x.credits_used END), 2) END AS change_percent,
  u.request_count, CASE WHEN q.closed_seq IS NULL THEN v.request_count ELSE x.request_count END AS previous_requests
FROM closed_usage u
JOIN periods p ON p.period_key = u.period_key AND p.closed_seq IS NOT NULL
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN tenants t ON t.tenant_key = u.tenant_key AND t.workspace_key = w.workspace_key
LEFT JOIN periods q ON q.period_key = u.period_key - 1
LEFT JOIN tenant_usage v ON v.period_key = u.period_key - 1 AND v.tenant_key = u.tenant_key
LEFT JOIN closed_usage x ON x.period_key = u.period_key - 1 AND x.tenant_key = u.tenant_key
UNION ALL
SELECT w.workspace_id, t.tenant_id, p.period, 0 AS credits_used, v.credits_used AS previous_credits, -v.credits_used AS credits_change,
  CASE WHEN v.credits_used <> 0 THEN round(-100.0 * v.credits_used / abs(v.credits_used), 2) END AS change_percent,
  0 AS request_count, v.request_count AS previous_requests
FROM periods p
JOIN periods q ON q.period_key = p.period_key - 1 AND q.workspace_key = p.workspace_key AND q.closed_seq IS NULL
JOIN tenant_usage v ON v.period_key = q.period_key AND v.withdrawn = 0
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN tenants t ON t.tenant_key = v.tenant_key AND t.workspace_key = w.workspace_key
LEFT JOIN tenant_usage u ON u.period_key = p.period_key AND u.tenant_key = v.tenant_key
LEFT JOIN closed_usage x ON x.period_key = p.period_key AND x.tenant_key = v.tenant_key
WHERE p.covered_run_key IS NOT NULL AND (p.closed_seq IS NOT NULL OR u.tenant_key IS NULL)
  AND (p.closed_seq IS NULL OR x.tenant_key IS NULL)
UNION ALL
SELECT w.workspace_id, t.tenant_id, p.period, 0 AS credits_used, v.credits_used AS previous_credits, -v.credits_used AS credits_change,
  CASE WHEN v.credits_used <> 0 THEN round(-100.0 * v.credits_used / abs(v.credits_used), 2) END AS change_percent,
  0 AS request_count, v.request_count AS previous_requests
FROM periods p
JOIN periods q ON q.period_key = p.period_key - 1 AND q.workspace_key = p.workspace_key AND q.closed_seq IS NOT NULL
JOIN closed_usage v ON v.period_key = q.period_key AND v.withdrawn = 0
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN tenants t ON t.tenant_key = v.tenant_key AND t.workspace_key = w.workspace_key
LEFT JOIN tenant_usage u ON u.period_key = p.period_key AND u.tenant_key = v.tenant_key
LEFT JOIN closed_usage x ON x.period_key = p.period_key AND x.tenant_key = v.tenant_key
WHERE p.covered_run_key IS NOT NULL AND (p.closed_seq IS NOT NULL OR u.tenant_key IS NULL)
  AND (p.closed_seq IS NULL OR x.tenant_key IS NULL);

CREATE VIEW finance_period_totals AS
SELECT w.workspace_id, p.period,
  CASE WHEN p.closed_seq IS NULL
    THEN (SELECT count(*) FROM tenant_usage u WHERE u.period_key = p.period_key AND u.withdrawn = 0)
    ELSE e.tenants END AS tenants,
  CASE WHEN p.closed_seq IS NULL
    THEN (SELECT coalesce(sum(u.credits_used), 0) FROM tenant_usage u WHERE u.period_key = p.period_key)
    ELSE e.credits_used END AS credits_used,
  CASE WHEN p.closed_seq IS NULL
    THEN (SELECT coalesce(sum(u.request_count), 0) FROM tenant_usage u WHERE u.period_key = p.period_key)
    ELSE e.request_count END AS request_count,
  CASE WHEN p.closed_seq IS NOT NULL THEN 'closed'
    WHEN p.period_end >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') THEN 'open' ELSE 'settling' END AS state,
  CASE WHEN r.started_at > p.period_end THEN 1 ELSE 0 END AS complete,
  r.finished_at AS as_of,
  (SELECT coalesce(sum(a.credits_delta), 0) FROM adjustments a WHERE a.booked_period_key = p.period_key) AS adjustment_credits,
  (SELECT coalesce(sum(a.requests_delta), 0) FROM adjustments a WHERE a.booked_period_key = p.period_key) AS adjustment_requests,
  e.at AS closed_at, e.actor AS closed_by, e.note AS close_note, e.forced AS close_forced
FROM periods p
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN period_events e ON e.event_seq = p.closed_seq AND e.period_key = p.period_key
LEFT JOIN runs r ON r.run_key = p.covered_run_key;

CREATE VIEW finance_rate_cards AS
SELECT k.side, k.name AS rate_card, json_extract(k.definition, '$.workspace') AS workspace_id,
  json_extract(k.definition, '$.tenant') AS tenant_pattern, k.currency, json_extract(k.definition, '$.from_period') AS from_period,
  json_extract(k.definition, '$.to_period') AS to_period, CAST(json_extract(k.definition, '$.priority') AS bigint) AS priority,
  k.definition, k.source, k.recorded_at, k.retired_at, k.digest
FROM rate_cards k;

CREATE VIEW finance_reconciliations AS
SELECT w.workspace_id, p.period, a.at, a.actor, a.note, r.file_name, r.file_sha256, r.matched, r.missing, r.extra, r.different,
  r.tolerance, r.amounts, e.digest AS close_digest, CASE WHEN p.closed_seq = r.close_seq THEN 1 ELSE 0 END AS in_force,
  r.act_seq AS event_seq, a.previous_digest, a.digest
FROM reconciliations r
JOIN periods p ON p.period_key = r.period_key
JOIN workspaces w ON w.workspace_key = p.workspace_key
JOIN acts a ON a.act_seq = r.act_seq AND a.workspace_key = p.workspace_key
JOIN period_events e ON e.event_seq = r.close_seq AND e.period_key = r.period_key;

CREATE VIEW finance_runs AS
SELECT r.run_id, w.workspace_id, r.status, r.from_period, r.to_period, r.started_at, r.finished_at, r.pages, r.records, r.entries,
  r.digest, r.error_code, r.kind, r.slot, r.error_message
FROM runs r
JOIN workspaces w ON w.workspace_key = r.workspace_key;

CREATE VIEW finance_statements AS
SELECT w.workspace_id, t.tenant_id, p.period, s.number AS statement_number, n.display_name, n.external_ref, e.at AS closed_at,
  e.actor AS closed_by, CASE WHEN p.closed_seq = s.close_seq THEN 1 ELSE 0 END AS in_force, s.close_seq AS event_seq,
  e.digest AS close_digest
FROM statement_numbers s
JOIN periods p ON p.period_key = s.period_key
JOIN workspaces w ON w.workspace_key = p.workspace_key
JOIN tenants t ON t.tenant_key = s.tenant_key AND t.workspace_key = w.workspace_key
JOIN period_events e ON e.event_seq = s.close_seq AND e.period_key = s.period_key
LEFT JOIN tenant_names n ON n.tenant_key = t.tenant_key AND n.after_seq = (SELECT max(m.after_seq) FROM tenant_names m
  WHERE m.tenant_key = t.tenant_key AND m.after_seq < s.close_seq);

CREATE VIEW finance_tenants AS
SELECT w.workspace_id, t.tenant_id, n.display_name, n.external_ref,
  (SELECT r.finished_at FROM periods p
   JOIN tenant_usage u ON u.period_key = p.period_key AND u.tenant_key = t.tenant_key
   JOIN runs r ON r.run_key = u.first_run_key
   WHERE p.workspace_key = t.workspace_key ORDER BY u.first_run_key LIMIT 1) AS first_seen_at,
  n.labels, n.recorded_at AS named_at
FROM tenants t
JOIN workspaces w ON w.workspace_key = t.workspace_key
LEFT JOIN tenant_names n ON n.tenant_key = t.tenant_key
  AND n.after_seq = (SELECT max(m.after_seq) FROM tenant_names m WHERE m.tenant_key = t.tenant_key);

CREATE VIEW finance_usage AS
SELECT w.workspace_id, t.tenant_id, p.period, p.period_start, p.period_end, u.credits_used, u.request_count,
  CASE WHEN p.closed_seq IS NOT NULL THEN 'closed'
    WHEN p.period_end >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') THEN 'open' ELSE 'settling' END AS state,
  f.finished_at AS first_seen_at, c.finished_at AS changed_at, u.withdrawn
FROM tenant_usage u
JOIN periods p ON p.period_key = u.period_key AND p.closed_seq IS NULL
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN tenants t ON t.tenant_key = u.tenant_key AND t.workspace_key = w.workspace_key
LEFT JOIN runs f ON f.run_key = u.first_run_key
LEFT JOIN runs c ON c.run_key = u.changed_run_key
UNION ALL
SELECT w.workspace_id, t.tenant_id, p.period, p.period_start, p.period_end, u.credits_used, u.request_count,
  CASE WHEN p.closed_seq IS NOT NULL THEN 'closed'
    WHEN p.period_end >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') THEN 'open' ELSE 'settling' END AS state,
  f.finished_at AS first_seen_at, c.finished_at AS changed_at, u.withdrawn
FROM closed_usage u
JOIN periods p ON p.period_key = u.period_key AND p.closed_seq IS NOT NULL
JOIN workspaces w ON w.workspace_key = p.workspace_key
LEFT JOIN tenants t ON t.tenant_key = u.tenant_key AND t.workspace_key = w.workspace_key
LEFT JOIN runs f ON f.run_key = u.first_run_key
LEFT JOIN runs c ON c.run_key = u.changed_run_key;
