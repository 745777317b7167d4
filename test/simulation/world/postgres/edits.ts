import type { PostgresEngine } from './engine.ts';
import { SCHEMA } from './schema.ts';

/** What somebody does to a replica who may write to it. */
export const REPLICA_EDITS = ['row_changed', 'row_removed', 'row_added', 'table_dropped'] as const;
export type ReplicaEdit = (typeof REPLICA_EDITS)[number];

/** Tables with a column that says something, and one of their key. */
const TABLES = [
  { name: 'tenant_usage', column: 'credits_used', key: 'tenant_key' },
  { name: 'usage_entries', column: 'credits_delta', key: 'entry_id' },
  { name: 'charges', column: 'amount_minor', key: 'tenant_key' },
  { name: 'runs', column: 'records', key: 'run_key' },
  { name: 'periods', column: 'workspace_key', key: 'period_key' },
  { name: 'alert_transitions', column: 'revision', key: 'alert_key' },
  { name: 'closed_usage', column: 'credits_used', key: 'tenant_key' },
] as const;

/** Does it to one of the tables that have rows; false when none has any. */
export function editReplica(engine: PostgresEngine, edit: ReplicaEdit, which: number): boolean {
  const filled = TABLES.filter(({ name }) => countOf(engine, name) > 0);
  const table = filled[which % Math.max(1, filled.length)];
  if (table === undefined) return false;
  const name = `${SCHEMA}.${table.name}`;
  const row = `ctid = (SELECT ctid FROM ${name} ORDER BY ctid OFFSET ${which % countOf(engine, table.name)} LIMIT 1)`;
  const statements: Record<ReplicaEdit, string> = {
    row_changed: `UPDATE ${name} SET ${table.column} = coalesce(${table.column}, 0) + 1000 WHERE ${row}`,
    row_removed: `DELETE FROM ${name} WHERE ${row}`,
    row_added: `INSERT INTO ${name} SELECT (jsonb_populate_record(t, jsonb_build_object('${table.key}', ${1_000_000 + which}))).*
      FROM ${name} t WHERE t.${row} ON CONFLICT DO NOTHING`,
    table_dropped: `DROP TABLE ${name} CASCADE`,
  };
  engine.run(statements[edit]);
  return true;
}

function countOf(engine: PostgresEngine, table: string): number {
  const [[there] = []] = engine.run(`SELECT to_regclass('${SCHEMA}.${table}') IS NOT NULL`);
  if (there !== 't') return 0;
  const [[count] = []] = engine.run(`SELECT count(*) FROM ${SCHEMA}.${table}`);
  return Number(count);
}
