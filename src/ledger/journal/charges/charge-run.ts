import type { Charge, ChargeLine } from '../../../billing/rates/charge.ts';
import { PeriodPricer } from '../../../billing/rates/period-pricer.ts';
import type { RateCardText } from '../../../billing/rates/rate-card-schema.ts';
import { oncePerKey } from '../../../core/one-at-a-time.ts';
import type { Period } from '../../../core/period.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { chargeLines, charges, costs } from '../../store/schema/billing-tables.ts';
import { asc, eq, isNull, query } from '../../store/schema/drizzle.ts';
import { ENTRY_KINDS, periodOfKey } from '../../store/schema/keys.ts';
import { usageEntries } from '../../store/schema/run-tables.ts';
import { periods } from '../../store/schema/workspace-tables.ts';
import { findPeriod, highest, workspaceOfPeriod } from '../../store/subjects.ts';
import type { MergedRun } from '../runs/apply-run.ts';
import {
  type CardSource,
  cardsInForce,
  hasCards,
  refuseAmbiguousCards,
  replaceCards,
  type StoredCard,
} from './card-store.ts';
import { correctByRun } from './corrections.ts';
import { writeFlatCharges } from './flat-charges.ts';

/**
 * Number of keys (a tenant in a period) that are read and priced at a time. It limits the memory of a first run with a
 * million tenants.
 */
const KEYS_PER_CHUNK = 5000;

/**
 * Prices the changes of a run inside its transaction. In open periods, charges are recomputed from the figures. In
 * closed periods, corrections are booked by the cards of the close. Costs are recomputed in all periods. Does nothing
 * in a ledger without cards.
 */
export function chargeRun({ connection, run, lastEntryIdBefore, changed: entered }: MergedRun): void {
  if (!hasCards(connection)) return;
  const cards = cardsInForce(connection);
  const writer = new ChargeWriter(connection);
  const costBook = new CostBook(connection, run.workspaceId);
  const changed = connection
    .prepare(
      `SELECT e.entry_id, e.period_key, e.tenant_key, t.tenant_id, e.credits_after, e.requests_after,
         e.kind = ${ENTRY_KINDS.withdrawn}, e.kind = ${ENTRY_KINDS.opened}
       FROM usage_entries e JOIN tenants t USING (tenant_key)
       WHERE e.entry_id > ? AND e.entry_id <= ? ORDER BY e.entry_id LIMIT ${KEYS_PER_CHUNK}`,
    )
    .safeIntegers()
    .raw();
  const pricers = new Map<number, PeriodPricer<StoredCard>>();
  const chargeEntry = (key: PricedKey & { isNew: boolean }): void => {
    costBook.write(key);
    const pricer = pricers.get(key.periodKey);
    if (pricer === undefined) return;
    // A key without an earlier entry has no charge to replace.
    if (!key.isNew) writer.clear(key.periodKey, key.tenantKey);
    writer.add(key, pricer);
  };
  const chargeEntries = (from: number, last: number): void =>
    eachKey((after) => changed.all(after, last) as KeyRecord[], from, chargeEntry);
  let charged = lastEntryIdBefore;
  for (const [periodKey, { after, last }] of entered) {
    if (findPeriod(connection, periodKey)?.closedSeq !== null) continue;
    const pricer = new PeriodPricer(cards, run.workspaceId, periodOfKey(periodKey));
    pricers.set(periodKey, pricer);
    if (costBook.hasCards || !writeFlatCharges(connection, periodKey, pricer)) continue;
    chargeEntries(charged, after);
    charged = last;
  }
  chargeEntries(charged, highest(connection, usageEntries.entryId));
  writer.flush();
  correctByRun(connection, run);
}

export interface PricedPeriod {
  workspaceId: string;
  period: Period;
}

/** Reprices all open periods after a change of cards, and returns them. */
export function chargeOpenPeriods(connection: LedgerDb): PricedPeriod[] {
  const open = query(connection).select().from(periods).where(isNull(periods.closedSeq));
  const found = open.orderBy(asc(periods.periodKey)).all();
  return found.map(({ periodKey, period }) => {
    chargePeriod(connection, periodKey);
    return { workspaceId: workspaceOfPeriod(connection, periodKey).workspaceId, period };
  });
}

/** Reprices an open period, for example a period that has been reopened. */
export function chargePeriod(connection: LedgerDb, periodKey: number): void {
  const db = query(connection);
  db.delete(charges).where(eq(charges.periodKey, periodKey)).run();
  db.delete(chargeLines).where(eq(chargeLines.periodKey, periodKey)).run();
  const { workspaceId } = workspaceOfPeriod(connection, periodKey);
  const pricer = new PeriodPricer(cardsInForce(connection), workspaceId, periodOfKey(periodKey));
  if (writeFlatCharges(connection, periodKey, pricer)) return;
  const writer = new ChargeWriter(connection);
  eachUsage(connection, periodKey, (key) => writer.add(key, pricer));
  writer.flush();
}

/** Recomputes the costs of all periods, including closed ones, after cost cards have changed. */
function costAllPeriods(connection: LedgerDb): void {
  query(connection).delete(costs).run();
  for (const { periodKey } of query(connection).select().from(periods).orderBy(asc(periods.periodKey)).all()) {
    const book = new CostBook(connection, workspaceOfPeriod(connection, periodKey).workspaceId);
    eachUsage(connection, periodKey, (key) => book.write(key));
  }
}

/** Computes and stores the cost of a tenant's usage, replacing an earlier cost. */
class CostBook {
  readonly hasCards: boolean;
  readonly #pricerOf: (periodKey: number) => PeriodPricer<StoredCard>;
  readonly #write;
  readonly #delete;

  constructor(connection: LedgerDb, workspaceId: string) {
    const cards = cardsInForce(connection, 'cost');
    this.hasCards = cards.length > 0;
    this.#pricerOf = oncePerKey((periodKey: number) => new PeriodPricer(cards, workspaceId, periodOfKey(periodKey)));
    this.#write = connection.prepare('INSERT OR REPLACE INTO costs VALUES (?, ?, ?, ?)');
    this.#delete = connection.prepare('DELETE FROM costs WHERE period_key = ? AND tenant_key = ?');
  }

  write(key: PricedKey): void {
    if (!this.hasCards) return;
    const { periodKey, tenantKey, tenantId, withdrawn } = key;
    const priced = this.#pricerOf(periodKey).price(tenantId, key, !withdrawn);
    if (priced === null) this.#delete.run(periodKey, tenantKey);
    else this.#write.run(periodKey, tenantKey, priced.card.cardKey, priced.charge?.amountMinor ?? null);
  }
}

/** Calls `use` with the current figures of each tenant in a period. */
function eachUsage(connection: LedgerDb, periodKey: number, use: (key: PricedKey) => void): void {
  const keys = connection
    .prepare(
      `SELECT u.tenant_key, u.period_key, u.tenant_key, t.tenant_id, u.credits_used, u.request_count, u.withdrawn, 1
       FROM tenant_usage u JOIN tenants t USING (tenant_key)
       WHERE u.period_key = ? AND u.tenant_key > ? ORDER BY u.tenant_key LIMIT ${KEYS_PER_CHUNK}`,
    )
    .safeIntegers()
    .raw();
  eachKey((after) => keys.all(periodKey, after) as KeyRecord[], 0, use);
}

/**
 * A row of a query that returns keys (a tenant in a period). `withdrawn` and `isNew` are 0 or 1; a new key has no
 * charge.
 */
type KeyRecord = [
  position: bigint,
  periodKey: bigint,
  tenantKey: bigint,
  tenantId: string,
  credits: bigint,
  requests: bigint,
  withdrawn: bigint,
  isNew: bigint,
];

/**
 * Calls `use` for each key that `read` returns, chunk by chunk, because SQLite cannot write on a connection while a
 * statement is being read.
 */
function eachKey(
  read: (after: bigint | number) => KeyRecord[],
  from: number,
  use: (key: PricedKey & { isNew: boolean }) => void,
): void {
  let after: bigint | number = from;
  for (let records = read(after); records.length > 0; records = read(after)) {
    for (const [position, periodKey, tenantKey, tenantId, credits, requests, withdrawn, isNew] of records) {
      after = position;
      use({
        periodKey: Number(periodKey),
        tenantKey: Number(tenantKey),
        tenantId,
        credits,
        requests,
        withdrawn: withdrawn !== 0n,
        isNew: isNew === 1n,
      });
    }
  }
}

interface PricedKey {
  periodKey: number;
  tenantKey: number;
  tenantId: string;
  credits: bigint;
  requests: bigint;
  withdrawn: boolean;
}

/**
 * Writes the charge rows of open periods. Rows are buffered and inserted in batches, so callers must call `flush` at
 * the end.
 */
class ChargeWriter {
  readonly #charges;
  readonly #lines;
  readonly #delete;
  readonly #deleteLines;

  constructor(connection: LedgerDb) {
    this.#delete = connection.prepare('DELETE FROM charges WHERE period_key = ? AND tenant_key = ?');
    this.#deleteLines = connection.prepare('DELETE FROM charge_lines WHERE period_key = ? AND tenant_key = ?');
    this.#charges = new RowInserter(
      connection,
      'charges',
      ['period_key', 'card_key', 'tier', 'unit_credits', 'unit_price'],
      ['tenant_key', 'credits_used', 'amount_minor'],
    );
    this.#lines = new RowInserter(
      connection,
      'charge_lines',
      ['period_key', 'line_number', 'kind', 'tier', 'unit_credits', 'unit_price'],
      ['tenant_key', 'credits', 'amount_minor', 'requests'],
    );
  }

  clear(periodKey: number, tenantKey: number): void {
    this.#delete.run(periodKey, tenantKey);
    this.#deleteLines.run(periodKey, tenantKey);
  }

  /**
   * Adds the charge of a key that has none. A charge that cannot be priced is stored with the amount null and without
   * lines.
   */
  add(key: PricedKey, pricer: PeriodPricer<StoredCard>): void {
    const priced = pricer.price(key.tenantId, key, !key.withdrawn);
    if (priced === null) return;
    const { card, charge } = priced;
    const { periodKey, tenantKey } = key;
    const own = charge === null ? null : ownLineOf(charge, key.credits);
    const { tier = null, unitCredits = null, unitPrice = null } = own ?? {};
    const ofCharge = [tenantKey, key.credits, charge?.amountMinor ?? null];
    this.#charges.add([periodKey, card.cardKey, tier, unitCredits, unitPrice], ofCharge);
    if (charge === null || own !== null) return;
    let number = 0;
    for (const { kind, tier, credits, unitCredits, unitPrice, requests, amountMinor } of charge.lines) {
      number += 1;
      this.#lines.add(
        [periodKey, number, kind, tier, unitCredits, unitPrice],
        [tenantKey, credits, amountMinor, requests],
      );
    }
  }

  flush(): void {
    this.#charges.flush();
    this.#lines.flush();
  }
}

/**
 * Returns the line of a charge that consists of a single line with one price for all its credits: that line is stored
 * in the charge's row. Returns null for other charges.
 */
function ownLineOf({ lines }: Charge, credits: bigint): ChargeLine | null {
  const [line] = lines;
  return lines.length === 1 && line?.kind === 'usage' && line.credits === credits ? line : null;
}

/**
 * Number of rows that one statement inserts. With one row per statement, the calls into SQLite take longer than the
 * inserts.
 */
const CHARGES_PER_STATEMENT = 50;

interface Batch {
  common: readonly unknown[];
  named: Record<string, unknown>;
  own: unknown[];
}

/**
 * Inserts rows in batches that share the values of some columns. These are bound once per statement, because binding
 * every value takes as long as inserting.
 */
class RowInserter {
  readonly #many;
  readonly #one;
  readonly #batches = new Map<string, Batch>();
  /** The batch of the previous row, kept because consecutive rows mostly belong to the same batch. */
  #last: Batch = { common: [], named: {}, own: [] };
  readonly #common: readonly string[];
  readonly #columns: number;

  constructor(connection: LedgerDb, table: string, common: readonly string[], own: readonly string[]) {
    this.#common = common;
    this.#columns = own.length;
    const row = `(${[...common.map((column) => `@${column}`), ...own.map(() => '?')].join(', ')})`;
    const insert = `INSERT INTO ${table} (${[...common, ...own].join(', ')}) VALUES`;
    this.#one = connection.prepare(`${insert} ${row}`);
    this.#many = connection.prepare(`${insert} ${Array(CHARGES_PER_STATEMENT).fill(row).join(', ')}`);
  }

  add(common: readonly unknown[], own: readonly unknown[]): void {
    const batch = this.#batchOf(common);
    for (const value of own) batch.own.push(value);
    if (batch.own.length < CHARGES_PER_STATEMENT * this.#columns) return;
    this.#many.run(batch.named, batch.own);
    batch.own = [];
  }

  #batchOf(common: readonly unknown[]): Batch {
    if (this.#last.common.length > 0 && common.every((value, at) => value === this.#last.common[at])) return this.#last;
    const key = common.join(' ');
    let batch = this.#batches.get(key);
    if (batch === undefined) {
      const named = Object.fromEntries(this.#common.map((column, index) => [column, common[index]]));
      batch = { common, named, own: [] };
      this.#batches.set(key, batch);
    }
    this.#last = batch;
    return batch;
  }

  flush(): void {
    for (const { named, own } of this.#batches.values()) {
      for (let at = 0; at < own.length; at += this.#columns) this.#one.run(named, own.slice(at, at + this.#columns));
    }
    this.#batches.clear();
    this.#last = { common: [], named: {}, own: [] };
  }
}

interface CardsRequest {
  /** Rate cards; null leaves them unchanged. */
  cards: readonly RateCardText[] | null;
  /** Cost cards; null leaves them unchanged. */
  costs?: readonly RateCardText[] | null;
  source: CardSource;
  nowMs: number;
}

/** The numbers of cards that came into force and that were retired, and the periods that were repriced. */
interface CardsResult {
  added: number;
  retired: number;
  periods: PricedPeriod[];
}

/**
 * Puts cards into force, reprices all open periods and recomputes the costs of all periods, in one transaction. Throws
 * AppError `unclear_cards` when two cards could apply to the same tenant.
 */
export function setCards(
  connection: LedgerDb,
  { cards, costs: costCards = null, source, nowMs }: CardsRequest,
): CardsResult {
  for (const given of [cards, costCards]) if (given !== null) refuseAmbiguousCards(given);
  const none = { added: 0, retired: 0 };
  return connection
    .transaction(() => {
      const rates = cards === null ? none : replaceCards(connection, { cards, source, nowMs });
      const costsChange =
        costCards === null ? none : replaceCards(connection, { cards: costCards, side: 'cost', source, nowMs });
      if (costsChange.added + costsChange.retired > 0) costAllPeriods(connection);
      return {
        added: rates.added + costsChange.added,
        retired: rates.retired + costsChange.retired,
        periods: rates.added + rates.retired > 0 ? chargeOpenPeriods(connection) : [],
      };
    })
    .immediate();
}
