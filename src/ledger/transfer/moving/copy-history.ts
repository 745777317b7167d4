import type { LedgerConnection } from '../../store/file/open.ts';
import { PERIODS_PER_WORKSPACE } from '../../store/schema/keys.ts';

/** What the statements below are given; each names the keys that it needs. */
export interface MoveKeys {
  /** The workspace there and here. */
  from: number;
  to: number;
  /** What is added to the key of a period. */
  shift: number;
  /** The end of the chain here before. */
  head: number;
  /** The last link that is brought. */
  lastLink: number;
  /** ISO-8601 UTC. */
  now: string;
  /** The numbers of card sets begin above this. */
  sets: number;
}

/** In SQL: the number that the attached ledger's position `seq` of the chain has here. */
function linkOf(seq: string): string {
  return `coalesce((SELECT max(l.new) FROM temp.moving_links l WHERE l.old <= ${seq}), @head)`;
}

/** Tables of old and new keys, filled in this order. Keys keep their order, so whatever goes by them goes on as before. */
const MAPS: readonly [table: string, select: string][] = [
  [
    'moving_links',
    `SELECT seq, @head + row_number() OVER (ORDER BY seq) FROM (
       SELECT applied_seq AS seq FROM origin.runs WHERE workspace_key = @from AND applied_seq IS NOT NULL
       UNION ALL SELECT event_seq FROM origin.period_events WHERE workspace_key = @from)`,
  ],
  ['moving_tenants', keysOf('tenants', 'tenant_key', 'workspace_key = @from')],
  ['moving_runs', keysOf('runs', 'run_key', 'workspace_key = @from')],
  ['moving_entries', keysOf('usage_entries', 'entry_id', 'run_key IN (SELECT old FROM temp.moving_runs)')],
  ['moving_adjustments', keysOf('adjustments', 'adjustment_id', 'tenant_key IN (SELECT old FROM temp.moving_tenants)')],
  ['moving_alerts', keysOf('alerts', 'alert_key', 'workspace_key = @from')],
  ['moving_feedback', keysOf('alert_feedback', 'feedback_key', 'alert_key IN (SELECT old FROM temp.moving_alerts)')],
  [
    'moving_silences',
    keysOf(
      'silences',
      'silence_key',
      'workspace_key = @from OR (workspace_key IS NULL AND ended_at IS NULL AND until > @now)',
    ),
  ],
  [
    // 0 stands for the cards of that ledger itself, other numbers for those that its links had brought along.
    'moving_card_sets',
    `SELECT card_set, @sets + row_number() OVER (ORDER BY card_set) FROM (
       SELECT 0 AS card_set UNION
       SELECT m.card_set FROM origin.moved_links m WHERE m.seq IN (SELECT old FROM temp.moving_links))`,
  ],
  ['moving_cards', keysOf('rate_cards', 'card_key', `${cardSet()} IN (SELECT old FROM temp.moving_card_sets)`)],
];

function keysOf(table: string, key: string, where: string): string {
  return `SELECT ${key}, (SELECT coalesce(max(${key}), 0) FROM main.${table}) + row_number() OVER (ORDER BY ${key})
    FROM origin.${table} AS k WHERE ${where}`;
}

/** In SQL: the card set of a row of the attached `rate_cards`. */
function cardSet(): string {
  return "iif(source LIKE 'moved %', CAST(substr(source, 7) AS INTEGER), 0)";
}

/** In the order in which they refer to each other. Digests, and what only links can say, follow in `replayLinks`. */
const COPIES: readonly string[] = [
  `INSERT INTO tenants (tenant_key, workspace_key, tenant_id)
   SELECT k.new, @to, t.tenant_id FROM temp.moving_tenants k JOIN origin.tenants t ON t.tenant_key = k.old`,
  `INSERT INTO runs (run_key, run_id, workspace_key, kind, slot, status, fencing_token, from_period, to_period, started_at,
     finished_at, pages, records, entries, first_entry_id, error_code, error_message)
   SELECT k.new, r.run_id, @to, r.kind, r.slot, r.status, r.fencing_token, r.from_period, r.to_period, r.started_at,
     r.finished_at, r.pages, r.records, r.entries, e.new, r.error_code, r.error_message
   FROM temp.moving_runs k JOIN origin.runs r ON r.run_key = k.old
   LEFT JOIN temp.moving_entries e ON e.old = r.first_entry_id`,
  `INSERT INTO walks (run_key, walk_number, started_at, finished_at, pages, records, distinct_keys, total_records, total_pages,
     key_set_digest, content_digest, verdict, signs)
   SELECT k.new, w.walk_number, w.started_at, w.finished_at, w.pages, w.records, w.distinct_keys, w.total_records,
     w.total_pages, w.key_set_digest, w.content_digest, w.verdict, w.signs
   FROM temp.moving_runs k JOIN origin.walks w ON w.run_key = k.old`,
  `INSERT INTO leases (workspace_key, fencing_token, run_key, holder_host, holder_pid, holder_start, expires_at, released)
   SELECT @to, l.fencing_token, coalesce(k.new, 0), l.holder_host, l.holder_pid, l.holder_start, l.expires_at, 1
   FROM origin.leases l LEFT JOIN temp.moving_runs k ON k.old = l.run_key WHERE l.workspace_key = @from`,
  // What the last walk has shown is compared anew: the digest of it goes by the numbers of tenants.
  `INSERT INTO periods (period_key, workspace_key, period, period_start, period_end, covered_run_key, final_run_key, closed_seq,
     unsteady_run_key, figures_digest)
   SELECT p.period_key + @shift, @to, p.period, p.period_start, p.period_end,
     (SELECT new FROM temp.moving_runs WHERE old = p.covered_run_key),
     (SELECT new FROM temp.moving_runs WHERE old = p.final_run_key),
     (SELECT new FROM temp.moving_links WHERE old = p.closed_seq),
     (SELECT new FROM temp.moving_runs WHERE old = p.unsteady_run_key), NULL
   FROM origin.periods p WHERE p.workspace_key = @from`,
  `INSERT INTO usage_entries (entry_id, run_key, period_key, tenant_key, kind, credits_delta, requests_delta, credits_after,
     requests_after)
   SELECT k.new, r.new, e.period_key + @shift, t.new, e.kind, e.credits_delta, e.requests_delta, e.credits_after,
     e.requests_after
   FROM temp.moving_entries k JOIN origin.usage_entries e ON e.entry_id = k.old
   JOIN temp.moving_runs r ON r.old = e.run_key JOIN temp.moving_tenants t ON t.old = e.tenant_key ORDER BY k.new`,
  ...['tenant_usage', 'closed_usage'].map(
    (table) => `INSERT INTO ${table} (period_key, tenant_key, credits_used, request_count, withdrawn, first_run_key,
       changed_run_key)
     SELECT u.period_key + @shift, t.new, u.credits_used, u.request_count, u.withdrawn, f.new, c.new
     FROM origin.${table} u JOIN temp.moving_tenants t ON t.old = u.tenant_key
     JOIN temp.moving_runs f ON f.old = u.first_run_key JOIN temp.moving_runs c ON c.old = u.changed_run_key
     WHERE u.period_key >= @from * ${PERIODS_PER_WORKSPACE} AND u.period_key < (@from + 1) * ${PERIODS_PER_WORKSPACE}`,
  ),
  `INSERT INTO absences (period_key, tenant_key, run_key)
   SELECT a.period_key + @shift, t.new, r.new FROM origin.absences a
   JOIN temp.moving_tenants t ON t.old = a.tenant_key JOIN temp.moving_runs r ON r.old = a.run_key`,
  `INSERT INTO adjustments (adjustment_id, corrects_period_key, tenant_key, booked_period_key, credits_delta, requests_delta,
     recorded_at, run_key, entry_id, event_seq)
   SELECT k.new, a.corrects_period_key + @shift, t.new, a.booked_period_key + @shift, a.credits_delta, a.requests_delta,
     a.recorded_at, r.new, e.new, l.new
   FROM temp.moving_adjustments k JOIN origin.adjustments a ON a.adjustment_id = k.old
   JOIN temp.moving_tenants t ON t.old = a.tenant_key
   LEFT JOIN temp.moving_runs r ON r.old = a.run_key LEFT JOIN temp.moving_entries e ON e.old = a.entry_id
   LEFT JOIN temp.moving_links l ON l.old = a.event_seq`,
  // Of two names without a link between them the later one stands, as when they are recorded.
  `INSERT INTO tenant_names (tenant_key, after_seq, display_name, external_ref, labels, recorded_at)
   SELECT t.new, ${linkOf('n.after_seq')}, n.display_name, n.external_ref, n.labels, n.recorded_at
   FROM origin.tenant_names n JOIN temp.moving_tenants t ON t.old = n.tenant_key WHERE true ORDER BY n.after_seq
   ON CONFLICT (tenant_key, after_seq) DO UPDATE SET display_name = excluded.display_name,
     external_ref = excluded.external_ref, labels = excluded.labels, recorded_at = excluded.recorded_at`,
  `INSERT INTO rate_cards (card_key, name, currency, digest, definition, source, recorded_at, after_seq, retired_at,
     retired_after_seq)
   SELECT k.new, c.name, c.currency, c.digest, c.definition,
     'moved ' || (SELECT new FROM temp.moving_card_sets WHERE old = ${cardSet()}), c.recorded_at, ${linkOf('c.after_seq')},
     coalesce(c.retired_at, @now), iif(c.retired_after_seq IS NULL, @lastLink, ${linkOf('c.retired_after_seq')})
   FROM temp.moving_cards k JOIN origin.rate_cards c ON c.card_key = k.old`,
  `INSERT INTO charges (period_key, tenant_key, card_key, credits_used, amount_minor)
   SELECT c.period_key + @shift, t.new, k.new, c.credits_used, c.amount_minor
   FROM origin.charges c JOIN temp.moving_tenants t ON t.old = c.tenant_key JOIN temp.moving_cards k ON k.old = c.card_key
   WHERE c.period_key IN (SELECT period_key FROM origin.periods WHERE workspace_key = @from AND closed_seq IS NOT NULL)`,
  `INSERT INTO charge_lines (period_key, tenant_key, line_number, kind, tier, credits, unit_credits, unit_price, amount_minor)
   SELECT c.period_key + @shift, t.new, c.line_number, c.kind, c.tier, c.credits, c.unit_credits, c.unit_price, c.amount_minor
   FROM origin.charge_lines c JOIN temp.moving_tenants t ON t.old = c.tenant_key
   WHERE c.period_key IN (SELECT period_key FROM origin.periods WHERE workspace_key = @from AND closed_seq IS NOT NULL)`,
  `INSERT INTO charge_corrections (booked_period_key, tenant_key, adjustment_id, card_key, corrects_period_key, credits_delta,
     amount_minor)
   SELECT c.booked_period_key + @shift, t.new, a.new, k.new, c.corrects_period_key + @shift, c.credits_delta, c.amount_minor
   FROM origin.charge_corrections c JOIN temp.moving_adjustments a ON a.old = c.adjustment_id
   JOIN temp.moving_tenants t ON t.old = c.tenant_key JOIN temp.moving_cards k ON k.old = c.card_key`,
  `INSERT INTO close_commitments (event_seq, leaves, root)
   SELECT l.new, c.leaves, c.root FROM origin.close_commitments c JOIN temp.moving_links l ON l.old = c.event_seq`,
  `INSERT INTO alerts (alert_key, alert_id, rule, rule_version, workspace_key, tenant_key, period_key, stage, severity, state,
     previous_credits, current_credits, previous_requests, current_requests, threshold, first_fired_at, last_changed_at,
     revision, level, notified_measure, pending_since, clear_run_key, incident_key, detail)
   SELECT k.new, a.alert_id, a.rule, a.rule_version, @to, t.new, a.period_key + @shift, a.stage, a.severity, a.state,
     a.previous_credits, a.current_credits, a.previous_requests, a.current_requests, a.threshold, a.first_fired_at,
     a.last_changed_at, a.revision, a.level, a.notified_measure, a.pending_since,
     (SELECT new FROM temp.moving_runs WHERE old = a.clear_run_key),
     (SELECT new FROM temp.moving_alerts WHERE old = a.incident_key), a.detail
   FROM temp.moving_alerts k JOIN origin.alerts a ON a.alert_key = k.old
   LEFT JOIN temp.moving_tenants t ON t.old = a.tenant_key`,
  `INSERT INTO alert_transitions (alert_key, revision, change, state, stage, run_key, actor, at, current_credits, silent,
     silent_because, note, evidence)
   SELECT k.new, x.revision, x.change, x.state, x.stage, (SELECT new FROM temp.moving_runs WHERE old = x.run_key), x.actor,
     x.at, x.current_credits, x.silent, x.silent_because, x.note, x.evidence
   FROM temp.moving_alerts k JOIN origin.alert_transitions x ON x.alert_key = k.old`,
  `INSERT INTO alert_feedback (feedback_key, alert_key, label, note, actor, at)
   SELECT k.new, a.new, f.label, f.note, f.actor, f.at
   FROM temp.moving_feedback k JOIN origin.alert_feedback f ON f.feedback_key = k.old
   JOIN temp.moving_alerts a ON a.old = f.alert_key`,
  // What mutes every workspace there goes on muting this one, under an id of its own.
  `INSERT INTO silences (silence_key, silence_id, kind, workspace_key, rule, tenant, period, up_to_credits, until, reason,
     created_by, created_at, ended_at, ended_by)
   SELECT k.new, iif(s.workspace_key IS NULL, s.silence_id || '_' || @to, s.silence_id), s.kind, @to, s.rule, s.tenant,
     s.period, s.up_to_credits, s.until, s.reason, s.created_by, s.created_at, s.ended_at, s.ended_by
   FROM temp.moving_silences k JOIN origin.silences s ON s.silence_key = k.old`,
  // What still waits is sent by the ledger that it waits in; here it counts as told, so that its end is told, too.
  `INSERT INTO outbox (notification_id, alert_key, revision, channel, payload, state, attempts, attempts_before, created_at,
     next_attempt_at, delivered_at, last_error, digest_at, digest_id)
   SELECT o.notification_id, k.new, o.revision, o.channel, o.payload, iif(o.state IN ('pending', 'held'), 'delivered', o.state),
     o.attempts, o.attempts_before, o.created_at, o.next_attempt_at, o.delivered_at,
     iif(o.state IN ('pending', 'held'), 'left to the ledger that it came from', o.last_error), o.digest_at, o.digest_id
   FROM temp.moving_alerts k JOIN origin.outbox o ON o.alert_key = k.old`,
  'UPDATE workspaces SET first_run_key = (SELECT k.new FROM temp.moving_runs k JOIN origin.workspaces w ON k.old = w.first_run_key WHERE w.workspace_key = @from) WHERE workspace_key = @to',
];

/** Makes the maps of keys, in the temporary schema of the connection; `dropMaps` takes them out again. */
export function makeMaps(connection: LedgerConnection, keys: Omit<MoveKeys, 'lastLink'>): void {
  for (const [table, select] of MAPS) {
    connection.exec(`CREATE TEMP TABLE ${table} (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)`);
    runNamed(connection, `INSERT INTO temp.${table} (old, new) ${select}`, keys);
  }
}

export function dropMaps(connection: LedgerConnection): void {
  for (const [table] of MAPS) connection.exec(`DROP TABLE IF EXISTS temp.${table}`);
}

/** Copies everything of the workspace but what only the links of the chain can say, under new keys. */
export function copyHistory(connection: LedgerConnection, keys: MoveKeys): void {
  for (const sql of COPIES) runNamed(connection, sql, keys);
}

/** Integers as SQLite's own: a number of JavaScript would be a REAL to it, and arithmetic on that inexact. */
function runNamed(connection: LedgerConnection, sql: string, keys: Partial<MoveKeys>): void {
  const named = Object.entries(keys).filter(([name]) => new RegExp(`@${name}\\b`).test(sql));
  const values = named.map(([name, value]) => [name, typeof value === 'number' ? BigInt(value) : value]);
  connection.prepare(sql).run(Object.fromEntries(values));
}
