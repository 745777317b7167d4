import { isoTime } from '../../../../../src/core/clock.ts';
import type { LedgerDb } from '../../../../../src/ledger/store/ledger-db.ts';

/** The keys of its alerts; whatever the rules find gets later ones or earlier ones. */
const [FIRST, SECOND] = [101, 102];

/** Two rows of each guarded table, some changed since, and a notification that is gone. */
export function addGuardedRows(connection: LedgerDb, nowMs: number): void {
  const at = isoTime(nowMs);
  const insert = (table: string, rows: readonly Record<string, string | number | null>[]): void => {
    for (const row of rows) {
      const columns = Object.keys(row);
      const places = columns.map((column) => `@${column}`).join(', ');
      connection.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})`).run(row);
    }
  };
  const silence = { workspace_key: 1, rule: 'jump', tenant: 'acme*', period: '*', created_by: 'ada', created_at: at };
  insert('silences', [
    { silence_id: 'sil_1', kind: 'silence', until: '2026-06-01', reason: 'load test', up_to_credits: null, ...silence },
    { silence_id: 'sil_2', kind: 'plan', until: '2026-07-01', reason: 'launch', up_to_credits: 80_000, ...silence },
  ]);
  insert('channel_states', [
    { name: 'ops', disabled_at: at, reason: 'HTTP 410' },
    { name: 'mail', disabled_at: at, reason: '' },
  ]);
  const alert = { rule_version: 1, workspace_key: 1, tenant_key: 1, level: 'likely', last_changed_at: at, revision: 1 };
  insert('alerts', [
    {
      alert_key: FIRST,
      alert_id: 'al_1',
      rule: 'jump',
      period_key: null,
      severity: 'warning',
      state: 'pending',
      ...alert,
    },
    {
      alert_key: SECOND,
      alert_id: 'al_2',
      rule: 'drop',
      period_key: null,
      severity: 'critical',
      state: 'firing',
      ...alert,
    },
  ]);
  const transition = { state: 'firing', level: 'likely', actor: 'run', at, silent: 0, evidence: '{"a":1}' };
  insert('alert_transitions', [
    { alert_key: FIRST, revision: 1, change: 'pending', run_key: 1, current_credits: 7, ...transition },
    { alert_key: SECOND, revision: 1, change: 'fired', run_key: 2, current_credits: 9, ...transition },
  ]);
  const told = {
    event: 'opened',
    episode: 1,
    level: 'likely',
    severity: 'warning',
    notified_count: 0,
    open: 1,
    at,
    at_once: 1,
    revision: 1,
  };
  insert('alert_notified', [
    { alert_key: FIRST, channel: 'ops', magnitude: 7, ...told },
    { alert_key: SECOND, channel: '*', magnitude: null, ...told },
  ]);
  insert('alert_feedback', [
    { alert_key: FIRST, label: 'real', note: null, actor: 'ada', at },
    { alert_key: SECOND, label: 'false', note: 'a test', actor: 'bob', at },
  ]);
  const delivery = { channel: 'ops', form: 'single', created_at: at, due_at: at, scheduled_at: at };
  insert('deliveries', [
    { delivery_key: 1, notification_id: 'al_1.1.ops', payload: '{"id":1}', state: 'trying', ...delivery },
    { delivery_key: 2, notification_id: 'al_2.1.ops', payload: '{"id":2}', state: 'fresh', ...delivery },
    { delivery_key: 3, notification_id: 'old', payload: '{}', state: 'delivered', ...delivery },
  ]);
  const said = {
    revision: 1,
    event: 'opened',
    episode: 1,
    level: 'likely',
    severity: 'warning',
    notified_count: 0,
    magnitude: 7,
  };
  insert('delivery_members', [
    { delivery_key: 1, alert_key: FIRST, ...said },
    { delivery_key: 2, alert_key: SECOND, ...said },
  ]);
  const card = { digest: 'd', source: 'import', recorded_at: at, after_seq: 1 };
  insert('rate_cards', [
    { name: 'standard', currency: 'EUR', definition: '{"price":"0.01"}', side: 'price', ...card },
    { name: 'large', currency: 'JPY', definition: '{"price":"1"}', side: 'cost', ...card },
  ]);
  const line = { currency: 'EUR', minor_units: 100, actor: 'ada', recorded_at: at, after_seq: 1 };
  const place = connection.prepare('SELECT period_key, tenant_key FROM tenant_usage LIMIT 1').get() as object;
  insert('manual_lines', [
    { ...place, amount_minor: -1250, reason: 'goodwill', ...line },
    { ...place, amount_minor: 4900, reason: 'set-up', ...line },
  ]);
  insert('tenant_names', [
    { tenant_key: 1, after_seq: 1, display_name: 'Acme', external_ref: 'C-1', labels: '{}', recorded_at: at },
    { tenant_key: 1, after_seq: 2, display_name: 'ACME Ltd', external_ref: null, labels: '{"a":"b"}', recorded_at: at },
  ]);
  connection.exec(`
    UPDATE silences SET ended_at = '${at}', ended_by = 'bob' WHERE silence_key = 1;
    UPDATE alerts SET state = 'firing', current_credits = 12 WHERE alert_key = ${FIRST};
    UPDATE deliveries SET state = 'delivered', attempts = 1, delivered_at = '${at}' WHERE notification_id = 'al_1.1.ops';
    UPDATE rate_cards SET retired_at = '${at}', retired_after_seq = 2;
    UPDATE manual_lines SET revoked_at = '${at}', revoked_by = 'bob', revoked_because = 'a slip', revoked_after_seq = 1
      WHERE line_id = 2;
    DELETE FROM deliveries WHERE notification_id = 'old'`);
}
