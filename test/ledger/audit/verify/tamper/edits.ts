import type { LedgerDb } from '../../../../../src/ledger/store/ledger-db.ts';
import type { Random } from '../../../../support/random.ts';

export type Value = bigint | string | Buffer | null;
export type Row = Readonly<Record<string, Value>>;

/** A table as far as `verify` answers for it. */
export interface Covered {
  table: string;
  key: readonly string[];
  /** Columns of which no change need be found. */
  except: readonly string[];
  /** The columns of which every change must be found, where these are few. */
  only?: readonly string[];
  /** Only these rows; all when absent. */
  where?: string;
  remove: boolean;
  /** What makes an inserted row another one than the row that it resembles; empty where insertions are not covered. */
  insert: readonly string[];
}

const PUBLISHED = 'run_key IN (SELECT run_key FROM runs WHERE applied_seq IS NOT NULL)';
const OF_USAGE = ['period_key', 'tenant_key'];
const UNPROVEN = ['started_at', 'finished_at', 'key_set_digest', 'content_digest', 'signs'];
const OF_WALKS = ['run_key', 'walk_number'];

/** A table of which rows may be neither changed nor removed nor added, but for what the document leaves out. */
function guarded(table: string, key: readonly string[], except: readonly string[] = []): Covered {
  return { table, key, except, remove: true, insert: key };
}

/** What docs/ledger.md says that `verify` finds. */
export const COVERED: readonly Covered[] = [
  guarded('silences', ['silence_key']),
  guarded('channel_states', ['name']),
  guarded(
    'alerts',
    ['alert_key'],
    [
      'rule_version',
      'cause',
      'previous_credits',
      'current_credits',
      'previous_requests',
      'current_requests',
      'threshold',
      'last_changed_at',
      'magnitude',
      'pending_since',
      'clear_run_key',
      'basis',
    ],
  ),
  guarded('alert_transitions', ['alert_key', 'revision']),
  guarded(
    'alert_notified',
    ['alert_key', 'channel'],
    ['pending', 'pending_at', 'batch', 'due_at', 'scheduled_at', 'failures'],
  ),
  guarded('acts', ['act_seq']),
  guarded('reconciliations', ['act_seq']),
  guarded('invoice_numbers', ['act_seq', 'tenant_key', 'currency']),
  guarded('alert_feedback', ['feedback_key']),
  guarded('deliveries', ['delivery_key'], ['due_at', 'scheduled_at']),
  guarded('delivery_members', ['delivery_key', 'alert_key']),
  guarded('rate_cards', ['card_key'], ['minor_units']),
  guarded('tenant_names', ['tenant_key', 'after_seq']),
  guarded('manual_lines', ['line_id']),
  {
    table: 'row_changes',
    key: ['change_seq'],
    except: [],
    where: 'change_seq <= (SELECT max(last_change_seq) FROM runs)',
    remove: true,
    insert: [],
  },
  guarded('usage_entries', ['entry_id']),
  guarded('tenant_usage', OF_USAGE),
  guarded('closed_usage', OF_USAGE),
  { ...guarded('runs', ['run_key']), where: PUBLISHED },
  {
    table: 'walks',
    key: OF_WALKS,
    except: UNPROVEN,
    where: `verdict = 'accepted' AND ${PUBLISHED}`,
    remove: true,
    insert: ['walk_number'],
  },
  {
    table: 'walks',
    key: OF_WALKS,
    except: [],
    only: OF_WALKS,
    where: `verdict <> 'accepted' AND ${PUBLISHED}`,
    remove: true,
    insert: [],
  },
  guarded('period_events', ['event_seq'], ['system_user']),
  guarded('adjustments', ['adjustment_id']),
  guarded('periods', ['period_key'], ['covered_run_key', 'final_run_key', 'unsteady_run_key', 'figures_digest']),
  {
    table: 'periods',
    key: ['period_key'],
    except: [],
    only: ['covered_run_key'],
    where: 'period_key IN (SELECT period_key FROM usage_entries)',
    remove: false,
    insert: [],
  },
  {
    table: 'periods',
    key: ['period_key'],
    except: [],
    only: ['figures_digest'],
    where: 'figures_digest IS NOT NULL',
    remove: false,
    insert: [],
  },
  { ...guarded('tenants', ['tenant_key']), insert: [] },
  { ...guarded('workspaces', ['workspace_key'], ['name', 'first_run_key']), insert: [] },
];

/** One change behind the ledger's back: of one column, or of a whole row. */
export type Edit = { covered: Covered; row: Row } & (
  | { type: 'update'; column: string; value: Value }
  | { type: 'delete' }
  | { type: 'insert'; inserted: Row }
);

/** The rows and values that edits are made of, read once from the sound ledger. */
export class Editor {
  readonly #rowsOf = new Map<Covered, Row[]>();
  readonly #columnsOf = new Map<Covered, string[]>();
  readonly #connection: LedgerDb;

  constructor(connection: LedgerDb) {
    this.#connection = connection;
    for (const covered of COVERED) {
      const { table, where = 'true' } = covered;
      const rows = connection.prepare(`SELECT * FROM ${table} WHERE ${where}`).safeIntegers().all() as Row[];
      if (rows.length === 0) throw new Error(`there is nothing to edit in ${table}`);
      this.#rowsOf.set(covered, rows);
      const { except, only = Object.keys(rows[0] ?? {}) } = covered;
      this.#columnsOf.set(
        covered,
        only.filter((column) => !except.includes(column)),
      );
    }
  }

  /** Some edit; SQLite may still refuse it, when it breaks a key. */
  random(random: Random, covered: Covered): Edit {
    const rows = this.#rowsOf.get(covered) ?? [];
    const row = random.pick(rows);
    const ways = ['update', 'update', 'update', 'update', covered.remove ? 'delete' : 'update'];
    const way = random.pick([...ways, covered.insert.length > 0 ? 'insert' : 'update']);
    if (way === 'delete') return { covered, row, type: 'delete' };
    if (way === 'insert') return { covered, row, type: 'insert', inserted: this.#forge(random, covered, row) };
    const column = random.pick(this.#columnsOf.get(covered) ?? []);
    return { covered, row, type: 'update', column, value: this.#other(random, covered, row, column) };
  }

  /** A row like a real one, under a key of its own. */
  #forge(random: Random, covered: Covered, row: Row): Row {
    const forged: Record<string, Value> = { ...row };
    for (const column of covered.insert) forged[column] = this.#other(random, covered, row, column);
    for (const column of this.#columnsOf.get(covered) ?? []) {
      if (!covered.key.includes(column) && random.below(4) === 0)
        forged[column] = this.#other(random, covered, row, column);
    }
    return forged;
  }

  /** A value that differs: a neighbour, another row's, one at the edge of what fits, or none. */
  #other(random: Random, covered: Covered, row: Row, column: string): Value {
    const old = row[column] ?? null;
    for (;;) {
      const others = (this.#rowsOf.get(covered) ?? []).map((other) => other[column] ?? null);
      const value = random.pick([random.pick(others), random.pick(others), ...edges(random, old, column)]);
      const same = Buffer.isBuffer(value) && Buffer.isBuffer(old) ? value.equals(old) : value === old;
      if (!same) return value;
    }
  }

  /** The value of a statement on the sound ledger. */
  value(sql: string, ...parameters: Value[]): Value {
    const value = this.#connection
      .prepare(sql)
      .pluck()
      .safeIntegers()
      .get(...parameters);
    return (value as Value | undefined) ?? null;
  }
}

/** A column whose type alone is no reason for SQLite to refuse NULL; an integer key would then choose its own. */
const NULLABLE =
  /^(error_|first_entry_id|applied_seq|digest|previous_digest|closed_seq|covered|slot|(from|to)_period|last_change_seq|ended_|up_to_credits|row_digest|notified_measure|detail|silent_because|note|last_error|delivered_at|retired_|display_name|external_ref)/;

/** A column of text, where its value is null. */
const TEXT_IF_NULL =
  /^(error_|slot|(from|to)_period|ended_|detail|silent_because|note|evidence|last_error|delivered_at|digest_|retired_at|display_name|external_ref|first_fired_at)/;

function edges(random: Random, old: Value, column: string): Value[] {
  const none = NULLABLE.test(column) ? [null] : [];
  const isText = typeof old === 'string' || (old === null && TEXT_IF_NULL.test(column));
  if (isText) {
    const text = old ?? '';
    const cut = random.below(text.length + 1);
    return [...none, `${text} `, `${text.slice(0, cut)}x${text.slice(cut + 1)}`, ''];
  }
  if (Buffer.isBuffer(old)) {
    const flipped = Buffer.from(old);
    flipped.writeUInt8(flipped.readUInt8(0) ^ 1, 0);
    return [flipped, Buffer.alloc(0), old.subarray(1)];
  }
  const number = typeof old === 'bigint' ? old : 0n;
  return [
    ...none,
    number + 1n,
    number - 1n,
    -number,
    0n,
    number * 2n + 1n,
    2n ** 63n - 1n,
    -(2n ** 63n),
    2n ** 53n + 1n,
  ].filter((value) => value === null || (value < 2n ** 63n && value >= -(2n ** 63n)));
}

/** Carries out an edit, past foreign keys; false when a key of SQLite's own forbids it. */
export function carryOut(connection: LedgerDb, edit: Edit): boolean {
  const { table, key } = edit.covered;
  const where = key.map((column) => `${column} = ?`).join(' AND ');
  const keyValues = key.map((column) => edit.row[column] ?? null);
  try {
    if (edit.type === 'delete')
      return connection.prepare(`DELETE FROM ${table} WHERE ${where}`).run(...keyValues).changes === 1;
    if (edit.type === 'update') {
      const update = connection.prepare(`UPDATE ${table} SET ${edit.column} = ? WHERE ${where}`);
      return update.run(edit.value, ...keyValues).changes === 1;
    }
    const columns = Object.keys(edit.inserted);
    const insert = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
    return connection.prepare(insert).run(...Object.values(edit.inserted)).changes === 1;
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_CONSTRAINT')) return false;
    throw error;
  }
}

export function describeEdit(edit: Edit): string {
  const text = (value: unknown): string =>
    JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? `${inner}n` : inner));
  const { table, key } = edit.covered;
  const at = `${table}(${key.map((column) => text(edit.row[column])).join(', ')})`;
  if (edit.type === 'delete') return `delete ${at}`;
  if (edit.type === 'insert') return `insert into ${table}: ${text(edit.inserted)}`;
  return `${at}.${edit.column}: ${text(edit.row[edit.column])} -> ${text(edit.value)}`;
}
