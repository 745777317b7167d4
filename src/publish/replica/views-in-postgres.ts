import { viewColumnKind } from '../../reports/queries/finance-view.ts';

/** Columns of JSON, under whatever view they stand. Postgres has no U+0000: it is shown as elsewhere in the replica. */
const JSON_COLUMNS = ['labels', 'overridden'];
const NOW_IN_SQLITE = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
const NOW = `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * A view of `drizzle/views.sql` over all ledgers: its tables are joined within one ledger, a workspace that has moved is counted
 * once, `ledger_id` comes first, and each column has the type of what it holds. For views without subqueries.
 */
export function viewInPostgres(sql: string): string {
  const branches = sql
    .replace('CREATE VIEW', 'CREATE OR REPLACE VIEW')
    .replaceAll(NOW_IN_SQLITE, NOW)
    .split('UNION ALL\n');
  return branches
    .map((branch) => {
      const [, base = ''] = /^FROM \w+ (\w+)$/m.exec(branch) ?? [];
      const joined = branch
        .replaceAll(/JOIN (\w+) (\w+) ON /g, `JOIN $1 $2 ON $2.ledger_key = ${base}.ledger_key AND `)
        .replace('JOIN workspaces w', 'JOIN counted_workspaces w');
      const [head = '', rest = ''] = joined.split(/(?=\nFROM )/);
      // What is about a ledger as a whole stands in no workspace.
      const own = joined.includes('LEFT JOIN counted_workspaces w')
        ? `(SELECT g.ledger_id FROM ledgers g WHERE g.ledger_key = ${base}.ledger_key) AS ledger_id`
        : 'w.ledger_id';
      return `${typed(head).replace('SELECT ', `SELECT ${own}, `)}${rest}`;
    })
    .join('UNION ALL\n');
}

/** What is selected, with a cast of each plain column whose name says that it is no text. */
function typed(list: string): string {
  return list.replaceAll(/\b(\w\.(\w+))(?: AS (\w+))?(?=,|$)/g, (whole, value: string, own: string, other?: string) => {
    const name = other ?? own;
    const cast = castOf(name, value);
    return cast === null ? whole : `${cast} AS ${name}`;
  });
}

function castOf(name: string, value: string): string | null {
  if (JSON_COLUMNS.includes(name)) {
    return `regexp_replace(${value}, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', '\\1␀0', 'g')::jsonb`;
  }
  if (viewColumnKind(name) === 'flag') return `(${value} <> 0)`;
  if (viewColumnKind(name) !== 'date') return null;
  // Postgres has no year 0; the service names periods as it likes.
  if (name.startsWith('period_')) return `CASE WHEN ${value} >= '0001' THEN ${value}::timestamptz END`;
  return `${value}::timestamptz`;
}
