import type { Edit, Editor, Value } from './edits.ts';

/**
 * What the first fault must say one of, where it can be known: a run's id, `entry N`, a tenant with its quotes, a close.
 * Empty where the edit leaves several places that are wrong by themselves.
 */
export function whatIsNamed(edit: Edit, editor: Editor): string[] {
  const { row } = edit;
  const runId = (runKey: Value | undefined): string =>
    String(editor.value('SELECT run_id FROM runs WHERE run_key = ?', runKey ?? null));
  const tenant = (tenantKey: Value | undefined): string =>
    JSON.stringify(editor.value('SELECT tenant_id FROM tenants WHERE tenant_key = ?', tenantKey ?? null));
  const period = (periodKey: Value | undefined): string =>
    String(editor.value('SELECT period FROM periods WHERE period_key = ?', periodKey ?? null));
  const changed = edit.type === 'update' ? edit.column : null;

  const { table } = edit.covered;
  switch (table) {
    case 'usage_entries':
      // Ids beyond 2^53 are told as the nearest double.
      if (edit.type === 'insert') return [`entry ${Number(edit.inserted.entry_id)}`];
      if (edit.type === 'delete' || changed === 'entry_id' || changed === 'run_key') return [`entry ${row.entry_id} `];
      return [runId(row.run_key)];
    case 'tenant_usage':
    case 'closed_usage': {
      const touched = [row.tenant_key];
      if (edit.type === 'insert') touched.push(edit.inserted.tenant_key);
      if (edit.type === 'update' && changed === 'tenant_key') touched.push(edit.value);
      return touched.map(tenant);
    }
    case 'runs':
      if (edit.type === 'insert') return [];
      if (edit.type === 'delete' || changed === 'applied_seq' || changed === 'workspace_key') {
        return [String(row.run_id), `link ${row.applied_seq} `, `entry ${row.first_entry_id} `, 'walks'];
      }
      return [String(row.run_id), ...(edit.type === 'update' && changed === 'run_id' ? [String(edit.value)] : [])];
    case 'walks':
      if (edit.type === 'insert') return [];
      // A walk that was moved is missing at one run and too much at the other.
      return edit.type === 'update' && changed === 'run_key'
        ? [runId(row.run_key), runId(edit.value)]
        : [runId(row.run_key)];
    case 'period_events':
      if (changed === null || ['event_seq', 'workspace_key', 'period_key', 'action', 'at'].includes(changed)) return [];
      return [`${row.action} of ${period(row.period_key)} at ${row.at}: `];
    case 'adjustments': {
      if (edit.type === 'insert') return [];
      if (changed === 'recorded_at') return [`adjustment ${row.adjustment_id} `];
      const booked = [`adjustment ${row.adjustment_id} `];
      if (row.run_key !== null) booked.push(runId(row.run_key));
      const event = editor.value('SELECT action FROM period_events WHERE event_seq = ?', row.event_seq ?? null);
      if (event !== null) booked.push(`${event} of ${period(row.corrects_period_key)} at `);
      if (edit.type === 'update' && changed === 'run_key') booked.push(runId(edit.value));
      if (edit.type === 'update' && changed === 'event_seq') booked.push('reopen of ', 'close of ');
      return booked;
    }
    case 'periods':
      if (
        ['closed_seq', 'covered_run_key', 'workspace_key', 'figures_digest', 'period_start'].includes(changed ?? '')
      ) {
        return [String(row.period)];
      }
      return [];
    case 'silences':
    case 'channel_states':
    case 'alerts':
    case 'deliveries':
    case 'rate_cards': {
      const ids = { silences: 'silence_id', channel_states: 'name', alerts: 'alert_id', rate_cards: 'name' };
      const id = table === 'deliveries' ? 'notification_id' : ids[table];
      const named = String(row[id]);
      if (edit.type === 'delete') return [`row ${row[edit.covered.key[0] ?? '']} of ${table}`];
      if (edit.type === 'insert') return [String(edit.inserted[id])];
      return [named, ...(changed === id || changed === edit.covered.key[0] ? [String(edit.value)] : [])];
    }
    case 'tenants': {
      const first = (column: string): string =>
        String(
          editor.value(
            `SELECT ${column} FROM usage_entries JOIN runs USING (run_key) WHERE tenant_key = ? ORDER BY entry_id LIMIT 1`,
            row.tenant_key ?? null,
          ),
        );
      return changed === 'workspace_key' ? [`entry ${first('entry_id')} `] : [first('run_id')];
    }
    case 'workspaces':
      if (changed !== 'workspace_id') return [];
      return [
        String(
          editor.value(
            'SELECT run_id FROM runs WHERE workspace_key = ? AND applied_seq IS NOT NULL ORDER BY applied_seq LIMIT 1',
            row.workspace_key ?? null,
          ),
        ),
      ];
    default:
      return [];
  }
}
