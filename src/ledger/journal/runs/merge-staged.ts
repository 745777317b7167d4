import { SlotMemory } from '../../../speed/figure-columns.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { eq, prepared, preparedSql, sql } from '../../store/schema/drizzle.ts';
import { ENTRY_KINDS } from '../../store/schema/keys.ts';
import { tenantUsage } from '../../store/schema/run-tables.ts';
import { periods } from '../../store/schema/workspace-tables.ts';
import type { RunStaging } from '../staging/staging.ts';
import type { ClaimedRun } from './claim-run.ts';
import { CHANGED, COMPARED, EntryRows, OPENED } from './entry-rows.ts';
import { createKnownFigures } from './read-known.ts';

const rememberDigest = prepared((db) =>
  db
    .update(periods)
    .set({ figuresDigest: sql`${sql.placeholder('digest')}` })
    .where(eq(periods.periodKey, sql.placeholder('periodKey'))),
);

const usageOf = prepared((db) => {
  const { tenantKey, periodKey } = tenantUsage;
  return db
    .select({ tenantKey })
    .from(tenantUsage)
    .where(eq(periodKey, sql.placeholder('periodKey')))
    .limit(1);
});

/**
 * Number of entries that one statement merges into the state (`tenant_usage`). It is limited, because until a statement
 * ends, SQLite keeps two copies of each page that the statement changes.
 */
const ENTRIES_PER_STATEMENT = 2048;

export interface EntryCounts {
  opened: number;
  increased: number;
  decreased: number;
  withdrawn: number;
  restored: number;
}

export interface MergeRequest {
  run: ClaimedRun;
  staging: RunStaging;
  /** The number that was added to the numbers of new tenants after staging, see `insertTenants`. */
  shift: number;
  lastEntryIdBefore: number;
  /** By period key, the digest of the figures that the last run read for the period. */
  shownBefore: ReadonlyMap<number, Buffer>;
}

/** A range of entry ids: those above `after`, up to `last`. */
export interface EntryRange {
  after: number;
  last: number;
}

export interface MergeResult {
  counts: EntryCounts;
  /** By period key, the id range of the entries that were appended. Periods without new entries are not contained. */
  changed: Map<number, EntryRange>;
  /**
   * The keys of the periods whose tenants did not change: none is newly missing, and no missing one is listed again.
   */
  sameKeys: ReadonlySet<number>;
  /** The keys of the periods in which the walk contains every tenant of the ledger that is not withdrawn. */
  complete: ReadonlySet<number>;
}

/**
 * Appends an entry for each staged record that is new or changed and updates the state, one period at a time and in key
 * order. Returns the number of entries by kind.
 */
export function mergeStaged(
  connection: LedgerDb,
  { run, staging, shift, lastEntryIdBefore, shownBefore }: MergeRequest,
): MergeResult {
  const counts: EntryCounts = { opened: 0, increased: 0, decreased: 0, withdrawn: 0, restored: 0 };
  const changed = new Map<number, EntryRange>();
  const sameKeys = new Set<number>();
  const complete = new Set<number>();
  let entries = 0;
  const memory = new SlotMemory();
  const periodKeys = staging.periods.map(({ periodKey }) => periodKey).sort((a, b) => a - b);
  for (const periodKey of periodKeys) {
    const hasFigures = usageOf(connection).get({ periodKey }) !== undefined;
    const known = hasFigures ? createKnownFigures(connection, periodKey) : null;
    const isNew = known === null;
    const figures = staging.figuresOf(periodKey).inOrder(memory);
    const digest = shift === 0 ? figures.digest() : null;
    rememberDigest(connection).run({ digest, periodKey });
    // The figures equal those that the last run read for the period, so nothing needs to be compared.
    const isSame = digest !== null && shownBefore.get(periodKey)?.equals(digest) === true;
    if (isSame || isNew) sameKeys.add(periodKey);
    if (isSame) continue;
    const entriesBefore = entries;
    const rowsOf = (form: typeof OPENED) => new EntryRows(connection, form, run.runKey, periodKey);
    const [opened, changes, compared] = [rowsOf(OPENED), rowsOf(CHANGED), rowsOf(COMPARED)];
    figures.forEach((stagedKey, credits, requests) => {
      const tenantKey = stagedKey > staging.tenantBase ? stagedKey + shift : stagedKey;
      if (known === null) {
        // The figures are not looked up, because the ledger has none for this period. In a first run, this saves up to
        // a million look-ups.
        opened.add(tenantKey, credits, requests);
      } else if (!known.holds(tenantKey, credits, requests)) {
        const change = known.changeTo(credits, requests);
        if (change === null) compared.add(tenantKey, credits, requests);
        else changes.add(tenantKey, change.kind, change.credits, change.requests, credits, requests);
      }
    });
    for (const rows of [opened, changes, compared]) entries += rows.finish();
    if (known?.coversAllKeys() === true) complete.add(periodKey);
    if (entries === entriesBefore) continue;
    const range = { after: lastEntryIdBefore + entriesBefore, last: lastEntryIdBefore + entries };
    changed.set(periodKey, range);
    updateState(connection, range, isNew);
    if (isNew) counts.opened += entries - entriesBefore;
    else countEntries(connection, range.after, counts);
  }
  return { counts, changed, sameKeys, complete };
}

const insertState = `INSERT INTO tenant_usage
    (period_key, tenant_key, credits_used, request_count, withdrawn, first_run_key, changed_run_key)
  SELECT period_key, tenant_key, credits_after, requests_after, kind = ${ENTRY_KINDS.withdrawn}, run_key, run_key
  FROM usage_entries WHERE entry_id > ? AND entry_id <= ?`;
const addState = preparedSql(insertState);
const upsertState = preparedSql(
  `${insertState} ON CONFLICT (period_key, tenant_key) DO UPDATE SET credits_used = excluded.credits_used,
     request_count = excluded.request_count, withdrawn = excluded.withdrawn, changed_run_key = excluded.changed_run_key`,
);

/**
 * Updates the state (`tenant_usage`) with the entries in this id range. `isNew`: true if the state has no row for the
 * period of these entries.
 */
export function updateState(connection: LedgerDb, ids: EntryRange, isNew: boolean): void {
  const update = isNew ? addState(connection) : upsertState(connection);
  for (let { after } = ids; after < ids.last; after += ENTRIES_PER_STATEMENT) {
    update.run(after, Math.min(after + ENTRIES_PER_STATEMENT, ids.last));
  }
}

const ENTRY_SUMS = Object.entries(ENTRY_KINDS).map(([name, kind]) => `coalesce(sum(kind = ${kind}), 0) AS ${name}`);
const countByKind = preparedSql(`SELECT ${ENTRY_SUMS.join(', ')} FROM usage_entries WHERE entry_id > ?`);

/** Counts the entries after `lastEntryIdBefore` by kind, and adds these numbers to `counts`. */
export function countEntries(connection: LedgerDb, lastEntryIdBefore: number, counts: EntryCounts): void {
  const more = countByKind(connection).get(lastEntryIdBefore) as EntryCounts;
  for (const kind of Object.keys(ENTRY_KINDS) as (keyof EntryCounts)[]) counts[kind] += more[kind];
}
