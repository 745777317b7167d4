import type Database from 'better-sqlite3';
import { eq, perConnection, prepared, sql } from '../../store/schema/drizzle.ts';
import { ENTRY_KINDS } from '../../store/schema/keys.ts';
import { tenantUsage } from '../../store/schema/run-tables.ts';
import { periods } from '../../store/schema/workspace-tables.ts';
import { OrderMemory } from '../staging/figure-columns.ts';
import type { RunStaging } from '../staging/staging.ts';
import type { ClaimedRun } from './claim-run.ts';
import { figureSql } from './sum-limits.ts';

type Connection = Database.Database;

const { placeholder } = sql;

const rememberDigest = prepared((db) =>
  db
    .update(periods)
    .set({ figuresDigest: sql`${placeholder('digest')}` })
    .where(eq(periods.periodKey, placeholder('periodKey'))),
);

const usageOf = prepared((db) => {
  const { tenantKey, periodKey } = tenantUsage;
  return db
    .select({ tenantKey })
    .from(tenantUsage)
    .where(eq(periodKey, placeholder('periodKey')))
    .limit(1);
});

/** Records that one statement compares with the ledger. */
const ROWS_A_STATEMENT = 100;

/** Entries that one statement brings into the state: SQLite keeps the pages that it changes twice until it ends. */
const ENTRIES_A_STATEMENT = 2048;

export interface EntryCounts {
  opened: number;
  increased: number;
  decreased: number;
  withdrawn: number;
  restored: number;
}

export interface Merge {
  run: ClaimedRun;
  staging: RunStaging;
  /** By how much the numbers of new tenants have moved up. */
  shift: number;
  lastEntryIdBefore: number;
  /** What the last run that covered each period has shown, by period. */
  shownBefore: ReadonlyMap<number, Buffer>;
}

/** Entries with ids above the one, up to the other. */
export interface EntryRange {
  after: number;
  last: number;
}

export interface Merged {
  counts: EntryCounts;
  /** The periods that have entries, and where these lie. */
  changed: Map<number, EntryRange>;
  /** The periods that have the very keys of the walk: none is missing, and none has come back. */
  sameKeys: ReadonlySet<number>;
}

/**
 * Appends an entry for each staged record that is new or differs, in the order of the ledger's keys, and brings the state
 * up to it, one period at a time; returns how many entries there are of each kind.
 */
export function mergeStaged(connection: Connection, merge: Merge): Merged {
  const { run, staging, shift, lastEntryIdBefore, shownBefore } = merge;
  const counts: EntryCounts = { opened: 0, increased: 0, decreased: 0, withdrawn: 0, restored: 0 };
  const changed = new Map<number, EntryRange>();
  const sameKeys = new Set<number>();
  let entries = 0;
  const memory = new OrderMemory();
  for (const { periodKey } of staging.periods.sort((a, b) => a.periodKey - b.periodKey)) {
    const figures = staging.figuresOf(periodKey).inOrder(memory);
    const digest = shift === 0 ? figures.digest() : null;
    rememberDigest(connection).run({ digest, periodKey });
    // The state has held these very figures since the last run that covered the period: no need to compare them.
    const isSame = digest !== null && shownBefore.get(periodKey)?.equals(digest) === true;
    const isNew = !isSame && usageOf(connection).get({ periodKey }) === undefined;
    if (isSame || isNew) sameKeys.add(periodKey);
    if (isSame) continue;
    const entriesBefore = entries;
    // Where the ledger holds nothing yet there is nothing to compare with: a first run is spared a million look-ups.
    const prepare = isNew ? prepareOpen : prepareAppend;
    const append = (statement: Database.Statement, rows: (number | bigint)[]): void => {
      const values = isNew ? [run.runKey, periodKey, ...rows] : [...rows, run.runKey, periodKey, periodKey];
      entries += statement.run(values).changes;
    };
    let values: (number | bigint)[] = [];
    const known = isNew ? null : new KnownFigures(connection, periodKey);
    figures.forEach((stagedKey, credits, requests) => {
      const tenantKey = stagedKey > staging.tenantBase ? stagedKey + shift : stagedKey;
      if (known?.holds(tenantKey, credits, requests) === true) return;
      values.push(tenantKey, credits, requests);
      if (values.length < ROWS_A_STATEMENT * 3) return;
      append((isNew ? fullOpen : fullAppend)(connection), values);
      values = [];
    });
    if (values.length > 0) append(prepare(connection, values.length / 3), values);
    if (entries === entriesBefore) continue;
    const range = { after: lastEntryIdBefore + entriesBefore, last: lastEntryIdBefore + entries };
    changed.set(periodKey, range);
    updateState(connection, range, isNew);
    if (isNew) counts.opened += entries - entriesBefore;
    else countEntries(connection, range.after, counts);
  }
  return { counts, changed, sameKeys };
}

const fullAppend = perConnection((connection) => prepareAppend(connection, ROWS_A_STATEMENT));
const fullOpen = perConnection((connection) => prepareOpen(connection, ROWS_A_STATEMENT));

/** Appends records of a period that the ledger does not hold yet. */
function prepareOpen(connection: Connection, rows: number): Database.Statement {
  const places = Array.from({ length: rows }, () => '(?, ?, ?)').join(', ');
  return connection.prepare(
    `INSERT INTO usage_entries
       (run_key, period_key, tenant_key, kind, credits_delta, requests_delta, credits_after, requests_after)
     SELECT ?, ?, column1, ${ENTRY_KINDS.opened}, column2, column3, column2, column3
     FROM (VALUES ${places})`,
  );
}

/** Numbers are bound as doubles; what is subtracted from a 64-bit integer must be one itself, hence the casts. */
function prepareAppend(connection: Connection, rows: number): Database.Statement {
  const { opened, increased, decreased, restored } = ENTRY_KINDS;
  const places = Array.from({ length: rows }, () => '(?, ?, ?)').join(', ');
  return connection.prepare(
    `WITH s (tenant_key, credits, requests) AS (
       SELECT CAST(column1 AS INTEGER), CAST(column2 AS INTEGER), CAST(column3 AS INTEGER) FROM (VALUES ${places}))
     INSERT INTO usage_entries
       (run_key, period_key, tenant_key, kind, credits_delta, requests_delta, credits_after, requests_after)
     SELECT ?, ?, s.tenant_key,
       CASE WHEN u.period_key IS NULL THEN ${opened} WHEN u.withdrawn = 1 THEN ${restored}
         WHEN s.credits > u.credits_used OR (s.credits = u.credits_used AND s.requests > u.request_count)
           THEN ${increased}
         ELSE ${decreased} END,
       ${figureSql('s.credits - coalesce(u.credits_used, 0)')}, ${figureSql('s.requests - coalesce(u.request_count, 0)')},
       s.credits, s.requests
     FROM s LEFT JOIN tenant_usage u ON u.period_key = ? AND u.tenant_key = s.tenant_key
     WHERE u.period_key IS NULL OR u.withdrawn = 1 OR u.credits_used <> s.credits OR u.request_count <> s.requests`,
  );
}

/** Brings the state up to the entries of these ids; `isNew` when it holds none of their keys yet. */
export function updateState(connection: Connection, ids: EntryRange, isNew: boolean): void {
  const upsert = `ON CONFLICT (period_key, tenant_key) DO UPDATE SET credits_used = excluded.credits_used,
    request_count = excluded.request_count, withdrawn = excluded.withdrawn, changed_run_key = excluded.changed_run_key`;
  const update = connection.prepare(
    `INSERT INTO tenant_usage
       (period_key, tenant_key, credits_used, request_count, withdrawn, first_run_key, changed_run_key)
     SELECT period_key, tenant_key, credits_after, requests_after, kind = ${ENTRY_KINDS.withdrawn}, run_key, run_key
     FROM usage_entries WHERE entry_id > ? AND entry_id <= ? ${isNew ? '' : upsert}`,
  );
  for (let { after } = ids; after < ids.last; after += ENTRIES_A_STATEMENT) {
    update.run(after, Math.min(after + ENTRIES_A_STATEMENT, ids.last));
  }
}

/** Adds up the entries after this one by kind. */
export function countEntries(connection: Connection, lastEntryIdBefore: number, counts: EntryCounts): void {
  const sums = Object.entries(ENTRY_KINDS).map(([name, kind]) => `coalesce(sum(kind = ${kind}), 0) AS ${name}`);
  const more = connection
    .prepare(`SELECT ${sums.join(', ')} FROM usage_entries WHERE entry_id > ?`)
    .get(lastEntryIdBefore) as EntryCounts;
  for (const kind of Object.keys(ENTRY_KINDS) as (keyof EntryCounts)[]) counts[kind] += more[kind];
}

/** Keys that SQLite joins into one row: reading each as a row of its own would take a third longer. */
const KEYS_A_READ = 4096;

/**
 * What the ledger holds of one period, read along with records that come in the order of its keys. Most records of a sync
 * say what is known already: to see that here spares SQLite a look-up for each.
 */
export class KnownFigures {
  readonly #read: Database.Statement;
  readonly #periodKey: number;
  #tenantKeys: number[] = [];
  #credits: number[] = [];
  #requests: number[] = [];
  #at = 0;
  #isLast = false;

  constructor(connection: Database.Database, periodKey: number) {
    this.#read = connection
      .prepare(
        `SELECT json_group_array(tenant_key), json_group_array(credits_used), json_group_array(request_count)
         FROM (SELECT tenant_key, credits_used, request_count FROM tenant_usage
           WHERE period_key = ? AND tenant_key > ? AND withdrawn = 0 ORDER BY tenant_key LIMIT ${KEYS_A_READ})`,
      )
      .raw();
    this.#periodKey = periodKey;
  }

  /**
   * Whether the ledger holds these very figures of the tenant; keys must be asked for in ascending order. False means
   * that it may hold others: figures beyond 2^53 are read as the nearest double, which no smaller integer equals.
   */
  holds(tenantKey: number, credits: number | bigint, requests: number | bigint): boolean {
    for (;;) {
      const key = this.#tenantKeys[this.#at];
      if (key === undefined) {
        if (this.#isLast) return false;
        this.#readOn();
      } else if (key < tenantKey) {
        this.#at += 1;
      } else {
        return key === tenantKey && this.#credits[this.#at] === credits && this.#requests[this.#at] === requests;
      }
    }
  }

  #readOn(): void {
    const after = this.#tenantKeys.at(-1) ?? 0;
    const columns = this.#read.get(this.#periodKey, after) as [string, string, string];
    const [tenantKeys, credits, requests] = columns.map((column) => JSON.parse(column) as number[]);
    this.#tenantKeys = tenantKeys ?? [];
    this.#credits = credits ?? [];
    this.#requests = requests ?? [];
    this.#at = 0;
    this.#isLast = this.#tenantKeys.length < KEYS_A_READ;
  }
}
