import type { LedgerConnection } from '../../store/file/open.ts';
import { PERIODS_PER_WORKSPACE } from '../../store/schema/keys.ts';
import { LEDGER_TABLES, namedTable } from '../../store/schema/ledger-tables.ts';

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
  /** Rate cards and silences of all workspaces that concern this one, as JSON arrays of their keys there. */
  cards: string;
  silences: string;
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
  [
    'moving_corrections',
    keysOf('charge_corrections', 'correction_id', 'tenant_key IN (SELECT old FROM temp.moving_tenants)'),
  ],
  ['moving_alerts', keysOf('alerts', 'alert_key', 'workspace_key = @from')],
  ['moving_feedback', keysOf('alert_feedback', 'feedback_key', 'alert_key IN (SELECT old FROM temp.moving_alerts)')],
  [
    'moving_silences',
    keysOf(
      'silences',
      'silence_key',
      `workspace_key = @from OR (ended_at IS NULL AND until > @now
        AND silence_key IN (SELECT value FROM json_each(@silences)))`,
    ),
  ],
  [
    // 0 stands for the cards of that ledger itself, other numbers for those that its links had brought along.
    'moving_card_sets',
    `SELECT card_set, @sets + row_number() OVER (ORDER BY card_set) FROM (
       SELECT DISTINCT coalesce(m.card_set, 0) AS card_set
       FROM temp.moving_links l LEFT JOIN origin.moved_links m ON m.seq = l.old)`,
  ],
  [
    'moving_cards',
    keysOf(
      'rate_cards',
      'card_key',
      `${cardSet()} IN (SELECT old FROM temp.moving_card_sets)
        AND card_key IN (SELECT value FROM json_each(@cards))`,
    ),
  ],
];

function keysOf(table: string, key: string, where: string): string {
  return `SELECT ${key}, (SELECT coalesce(max(${key}), 0) FROM main.${table}) + row_number() OVER (ORDER BY ${key})
    FROM origin.${table} AS k WHERE ${where}`;
}

/** In SQL: the card set of a row of the attached `rate_cards`. */
function cardSet(): string {
  return "iif(source LIKE 'moved %', CAST(substr(source, 7) AS INTEGER), 0)";
}

/** Columns whose values have others here, by the map that knows them. */
const MAPPED: Readonly<Record<string, readonly string[]>> = {
  links: ['event_seq', 'closed_seq'],
  tenants: ['tenant_key'],
  runs: [
    ...['run_key', 'first_run_key', 'changed_run_key', 'covered_run_key', 'final_run_key', 'unsteady_run_key'],
    'clear_run_key',
  ],
  entries: ['entry_id', 'first_entry_id'],
  adjustments: ['adjustment_id'],
  corrections: ['correction_id'],
  alerts: ['alert_key'],
  feedback: ['feedback_key'],
  silences: ['silence_key'],
  cards: ['card_key'],
};
const MAP_OF = new Map(Object.entries(MAPPED).flatMap(([map, columns]) => columns.map((column) => [column, map])));

/** In SQL: rows whose `column` is one that is moved. */
function withMoved(column: string): string {
  return `r.${column} IN (SELECT old FROM temp.moving_${MAP_OF.get(column)})`;
}

const OF_WORKSPACE = 'r.workspace_key = @from';
const OF_PERIODS = `r.period_key >= @from * ${PERIODS_PER_WORKSPACE} AND r.period_key < (@from + 1) * ${PERIODS_PER_WORKSPACE}`;
const OF_CLOSED_PERIODS =
  'r.period_key IN (SELECT period_key FROM origin.periods WHERE workspace_key = @from AND closed_seq IS NOT NULL)';

/** Which rows are copied, and the columns that are not as `valueHere` has them; in the order in which rows refer to each other. */
export const COPIES: readonly { table: string; rows: string; but?: Readonly<Record<string, string>>; end?: string }[] =
  [
    { table: 'tenants', rows: OF_WORKSPACE },
    // Digests, and what only links can say, follow in `replayLinks`.
    {
      table: 'runs',
      rows: OF_WORKSPACE,
      but: { applied_seq: 'NULL', previous_digest: 'NULL', digest: 'NULL', last_change_seq: 'NULL' },
    },
    { table: 'walks', rows: withMoved('run_key') },
    { table: 'leases', rows: OF_WORKSPACE, but: { run_key: `coalesce(${valueHere('run_key')}, 0)`, released: '1' } },
    // What the last walk has shown is compared anew: the digest of it goes by the numbers of tenants.
    { table: 'periods', rows: OF_WORKSPACE, but: { figures_digest: 'NULL' } },
    { table: 'usage_entries', rows: withMoved('entry_id') },
    { table: 'tenant_usage', rows: OF_PERIODS },
    { table: 'closed_usage', rows: OF_PERIODS },
    { table: 'absences', rows: withMoved('tenant_key') },
    { table: 'adjustments', rows: withMoved('adjustment_id') },
    // Of two names without a link between them the later one stands, as when they are recorded.
    {
      table: 'tenant_names',
      rows: withMoved('tenant_key'),
      end: `ORDER BY r.after_seq ON CONFLICT (tenant_key, after_seq) DO UPDATE SET display_name = excluded.display_name,
      external_ref = excluded.external_ref, labels = excluded.labels, recorded_at = excluded.recorded_at`,
    },
    {
      table: 'rate_cards',
      rows: withMoved('card_key'),
      but: {
        source: `'moved ' || (SELECT new FROM temp.moving_card_sets WHERE old = ${cardSet()})`,
        retired_at: 'coalesce(r.retired_at, @now)',
        retired_after_seq: `iif(r.retired_after_seq IS NULL, @lastLink, ${linkOf('r.retired_after_seq')})`,
      },
    },
    { table: 'charges', rows: OF_CLOSED_PERIODS },
    { table: 'charge_lines', rows: OF_CLOSED_PERIODS },
    { table: 'charge_corrections', rows: withMoved('correction_id') },
    { table: 'close_commitments', rows: withMoved('event_seq') },
    // Channels that are new to what is open hear of it, whatever becomes of the next run.
    { table: 'alerts', rows: withMoved('alert_key'), but: { ask_at: '@now', asked_at: '@now' } },
    { table: 'alert_transitions', rows: withMoved('alert_key') },
    { table: 'alert_told', rows: withMoved('alert_key') },
    { table: 'alert_feedback', rows: withMoved('alert_key') },
    // What mutes every workspace there goes on muting this one, under an id of its own.
    {
      table: 'silences',
      rows: withMoved('silence_key'),
      but: { silence_id: "iif(r.workspace_key IS NULL, r.silence_id || '_' || @from, r.silence_id)" },
    },
    // What still waits is sent by the ledger that it waits in; here it counts as told, so that its end is told, too.
    {
      table: 'outbox',
      rows: withMoved('alert_key'),
      but: {
        state: "iif(r.state IN ('pending', 'held'), 'delivered', r.state)",
        last_error: "iif(r.state IN ('pending', 'held'), 'left to the ledger that it came from', r.last_error)",
        claimed_until: 'NULL',
      },
    },
  ];

/** In SQL: what a column of the row `r` of the attached ledger is here. */
function valueHere(column: string): string {
  const map = MAP_OF.get(column);
  if (map !== undefined) return `(SELECT new FROM temp.moving_${map} WHERE old = r.${column})`;
  if (column === 'workspace_key') return '@to';
  if (column.endsWith('period_key')) return `r.${column} + @shift`;
  return column === 'after_seq' ? linkOf('r.after_seq') : `r.${column}`;
}

function copyStatement({ table, rows, but = {}, end = '' }: (typeof COPIES)[number]): string {
  const record = LEDGER_TABLES.map(namedTable).find(({ name }) => name === table);
  const columns = record?.columns.map(({ name }) => name) ?? [];
  const values = columns.map((column) => but[column] ?? valueHere(column));
  return `INSERT INTO ${table} (${columns.join(', ')}) SELECT ${values.join(', ')} FROM origin.${table} r WHERE ${rows} ${end}`;
}

const NAME_FIRST_RUN = `UPDATE workspaces SET first_run_key = (SELECT k.new FROM temp.moving_runs k
  JOIN origin.workspaces w ON k.old = w.first_run_key WHERE w.workspace_key = @from) WHERE workspace_key = @to`;

/** What has waited there is told from there, so it counts as told here. */
const COUNT_AS_TOLD = `
   INSERT INTO alert_told (alert_key, channel, event, episode, level, told_times, measure, open, at, at_once, revision)
   SELECT o.alert_key, o.channel, o.event, o.episode, o.level, o.told_times, o.measure, o.event <> 'closed', o.created_at,
     o.digest_at IS NULL, o.revision
   FROM (SELECT max(revision) AS last, * FROM outbox WHERE event IS NOT NULL AND state IN ('delivered', 'digested')
     AND alert_key IN (SELECT new FROM temp.moving_alerts) GROUP BY alert_key, channel) o WHERE true
   ON CONFLICT (alert_key, channel) DO UPDATE SET event = excluded.event, episode = excluded.episode,
     level = excluded.level, told_times = excluded.told_times, measure = excluded.measure, open = excluded.open,
     at = excluded.at, at_once = excluded.at_once, revision = excluded.revision
   WHERE excluded.revision > alert_told.revision`;

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
  for (const copy of COPIES) runNamed(connection, copyStatement(copy), keys);
  runNamed(connection, NAME_FIRST_RUN, keys);
  runNamed(connection, COUNT_AS_TOLD, keys);
}

/** Integers as SQLite's own: a number of JavaScript would be a REAL to it, and arithmetic on that inexact. */
function runNamed(connection: LedgerConnection, sql: string, keys: Partial<MoveKeys>): void {
  const named = Object.entries(keys).filter(([name]) => new RegExp(`@${name}\\b`).test(sql));
  const values = named.map(([name, value]) => [name, typeof value === 'number' ? BigInt(value) : value]);
  connection.prepare(sql).run(Object.fromEntries(values));
}
