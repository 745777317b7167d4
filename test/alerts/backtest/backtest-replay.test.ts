import { expect, test } from 'vitest';
import { findHistory, recordedLinks } from '../../../src/alerts/backtest/history.ts';
import { Replica } from '../../../src/alerts/backtest/replica.ts';
import { keepHistory } from '../../../src/alerts/history/curves.ts';
import type { Config } from '../../../src/config/types.ts';
import { type LedgerConnection, openReader } from '../../../src/ledger/store/file/open.ts';
import { WORKSPACE } from '../../support/sandbox-fixture.ts';
import { recordHistory } from './recorded-history.ts';

const RULES_ABOUT_USAGE = ['drop', 'jump', 'new_spend', 'regression', 'restatement', 'withdrawn', 'workspace_jump'];

test('a replay under unchanged settings gives exactly the alerts, changes and notifications that were recorded', {
  timeout: 60_000,
}, async () => {
  const { config } = await recordHistory();
  const reader = openReader(config.ledger.path);
  const replica = replay(reader.connection, config);
  try {
    const recorded = traceOf(reader.connection);
    expect([...new Set(recorded.alerts.map(({ rule }) => rule))].sort()).toEqual(RULES_ABOUT_USAGE);
    expect(recorded.transitions.length).toBeGreaterThan(120);
    expect(new Set(recorded.transitions.map((row) => String(row.silent_because).replace(/:.*/, '')))).toEqual(
      new Set(['null', 'seed', 'quiet']),
    );

    expect(traceOf(replica.connection)).toEqual(recorded);
    expect(stateOf(replica.connection)).toEqual(stateOf(reader.connection));
  } finally {
    replica.close();
    reader.close();
  }
});

function replay(ledger: LedgerConnection, { workspaces: [workspace] }: Config): Replica {
  if (workspace === undefined) throw new Error('there is no workspace');
  const { alerts: rules, lookbackPeriods, settleHours } = workspace;
  const history = findHistory(ledger, WORKSPACE);
  const source = { ledger, history, kept: keepHistory(ledger, history.workspaceKey) };
  const replica = new Replica(source, { rules, lookbackPeriods, settleHours });
  for (const link of recordedLinks(ledger, history)) replica.play(link);
  return replica;
}

/**
 * Everything that the rules have written about the workspace, by names instead of numbers. Entries are not replayed, and so
 * neither are the days of a course, from which a summary says when a limit was reached.
 */
function traceOf(connection: LedgerConnection) {
  const rows = (sql: string) => connection.prepare(sql).safeIntegers().all() as Record<string, unknown>[];
  const ours = `JOIN workspaces w ON w.workspace_key = a.workspace_key AND w.workspace_id = '${WORKSPACE}'`;
  return {
    alerts: rows(
      `SELECT a.alert_id, a.rule, a.rule_version, a.tenant_key, a.period_key, a.level, a.severity, a.state,
         a.previous_credits, a.current_credits, a.previous_requests, a.current_requests, a.threshold,
         a.first_fired_at, a.last_changed_at, a.revision, a.told_times, a.measure, a.episode, a.pending_since,
         a.clear_run_key, i.alert_id AS incident_id
       FROM alerts a ${ours} LEFT JOIN alerts i ON i.alert_key = a.incident_key ORDER BY a.alert_id`,
    ),
    transitions: rows(
      `SELECT a.alert_id, x.revision, x.change, x.state, x.level, x.run_key, x.actor, x.at, x.current_credits,
         x.silent, x.silent_because
       FROM alert_transitions x JOIN alerts a USING (alert_key) ${ours} ORDER BY a.alert_id, x.revision`,
    ),
    notifications: rows(
      `SELECT notification_id,
         json_remove(payload, '$.evidence.entries', '$.evidence.entry_count', '$.evidence.course', '$.summary') AS payload
       FROM outbox JOIN alerts a USING (alert_key) ${ours} ORDER BY notification_id`,
    ),
  };
}

/** What the rules read, as it stands at the end. */
function stateOf(connection: LedgerConnection) {
  const rows = (sql: string) => connection.prepare(sql).safeIntegers().raw().all();
  const ours = `period_key IN (SELECT period_key FROM periods JOIN workspaces USING (workspace_key)
    WHERE workspace_id = '${WORKSPACE}')`;
  return ['periods', 'tenant_usage', 'closed_usage'].map((table) =>
    rows(
      `SELECT ${table === 'periods' ? 'period_key, covered_run_key, final_run_key, closed_seq' : '*'} FROM ${table}
       WHERE ${ours} ORDER BY 1, 2`,
    ),
  );
}
