#!/bin/sh
# Recomputes the digest of a run with sqlite3 and sha256sum only; docs/ledger.md says over what.
# Usage: sh run-digest.sh LEDGER RUN_ID; prints what finance_runs.digest should say. On macOS: shasum -a 256 for sha256sum.
ledger=$1 run=$2
case $run in *[!A-Za-z0-9_]*) echo "not a run id: $run" >&2; exit 2 ;; esac
sqlite3 -readonly -batch -cmd '.timeout 10000' -list -noheader "$ledger" "
  CREATE TEMP VIEW run AS SELECT * FROM runs WHERE run_id = '$run' AND applied_seq IS NOT NULL;
  SELECT json_array(r.previous_digest, r.applied_seq, r.run_id, w.workspace_id, r.finished_at, r.entries, r.kind, r.slot,
    r.from_period, r.to_period, r.fencing_token, r.last_change_seq)
  FROM run r JOIN workspaces w USING (workspace_key);
  SELECT json_array(e.entry_id, t.tenant_id, p.period, CASE e.kind WHEN 1 THEN 'opened' WHEN 2 THEN 'increased'
      WHEN 3 THEN 'decreased' WHEN 4 THEN 'withdrawn' WHEN 5 THEN 'restored' END,
    e.credits_delta, e.requests_delta, e.credits_after, e.requests_after)
  FROM run r JOIN usage_entries e ON e.entry_id >= r.first_entry_id AND e.entry_id < r.first_entry_id + r.entries
  JOIN tenants t ON t.tenant_key = e.tenant_key JOIN periods p ON p.period_key = e.period_key
  ORDER BY e.entry_id;
  SELECT json_array('adjustment', a.adjustment_id, t.tenant_id, c.period, b.period, a.credits_delta, a.requests_delta,
    a.entry_id)
  FROM run r JOIN adjustments a ON a.run_key = r.run_key JOIN tenants t ON t.tenant_key = a.tenant_key
  JOIN periods c ON c.period_key = a.corrects_period_key JOIN periods b ON b.period_key = a.booked_period_key
  ORDER BY a.adjustment_id;
  SELECT json_array('change', c.change_seq, c.table_name, c.row_key, lower(hex(c.row_digest)))
  FROM run r JOIN row_changes c ON c.change_seq <= r.last_change_seq AND c.change_seq > coalesce((
    SELECT max(last_change_seq) FROM (SELECT applied_seq AS seq, last_change_seq FROM runs
      UNION ALL SELECT act_seq, last_change_seq FROM acts) WHERE seq < r.applied_seq), 0)
  ORDER BY c.change_seq;" | sha256sum | cut -d ' ' -f 1
