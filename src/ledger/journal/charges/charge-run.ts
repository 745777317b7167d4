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
import { findPeriod, highest, workspaceOf } from '../../store/subjects.ts';
import type { MergedRun } from '../runs/apply-run.ts';
import { type CardSource, cardsInForce, hasCards, refuseUnclear, replaceCards, type StoredCard } from './card-store.ts';
import { correctByRun } from './corrections.ts';
import { chargeAlike } from './flat-charges.ts';

/** Keys that are read and priced at a time: bounds the memory of a first run over a million tenants. */
const KEYS_A_CHUNK = 5000;

/**
 * Prices what a run has changed, inside its transaction: the charges of periods that are not closed follow their figures,
 * its corrections of closed periods are charged on the cards of their closes, and what it costs follows in all periods. A ledger
 * without cards is left alone.
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
       WHERE e.entry_id > ? AND e.entry_id <= ? ORDER BY e.entry_id LIMIT ${KEYS_A_CHUNK}`,
    )
    .safeIntegers()
    .raw();
  const pricers = new Map<number, PeriodPricer<StoredCard>>();
  const chargeEntry = (key: PricedKey & { isNew: boolean }): void => {
    costBook.write(key);
    const pricer = pricers.get(key.periodKey);
    if (pricer === undefined) return;
    // A key without an entry before has no charge.
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
    if (costBook.isGiven || !chargeAlike(connection, periodKey, pricer)) continue;
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

/** Prices all periods that are not closed anew, and gives them: the cards have changed. */
export function chargeOpenPeriods(connection: LedgerDb): PricedPeriod[] {
  const open = query(connection).select().from(periods).where(isNull(periods.closedSeq));
  const found = open.orderBy(asc(periods.periodKey)).all();
  return found.map(({ periodKey, period }) => {
    chargePeriod(connection, periodKey);
    return { workspaceId: workspaceOf(connection, periodKey).workspaceId, period };
  });
}

/** Prices a period that is not closed anew, such as one that has been reopened. */
export function chargePeriod(connection: LedgerDb, periodKey: number): void {
  const db = query(connection);
  db.delete(charges).where(eq(charges.periodKey, periodKey)).run();
  db.delete(chargeLines).where(eq(chargeLines.periodKey, periodKey)).run();
  const { workspaceId } = workspaceOf(connection, periodKey);
  const pricer = new PeriodPricer(cardsInForce(connection), workspaceId, periodOfKey(periodKey));
  if (chargeAlike(connection, periodKey, pricer)) return;
  const writer = new ChargeWriter(connection);
  eachUsage(connection, periodKey, (key) => writer.add(key, pricer));
  writer.flush();
}

/** Works out anew what all periods cost, closed ones too: the cost cards have changed. */
function costAllPeriods(connection: LedgerDb): void {
  query(connection).delete(costs).run();
  for (const { periodKey } of query(connection).select().from(periods).orderBy(asc(periods.periodKey)).all()) {
    const book = new CostBook(connection, workspaceOf(connection, periodKey).workspaceId);
    eachUsage(connection, periodKey, (key) => book.write(key));
  }
}

/** Writes what usage costs, in place of what was there. */
class CostBook {
  readonly isGiven: boolean;
  readonly #pricerOf: (periodKey: number) => PeriodPricer<StoredCard>;
  readonly #write;
  readonly #delete;

  constructor(connection: LedgerDb, workspaceId: string) {
    const cards = cardsInForce(connection, 'cost');
    this.isGiven = cards.length > 0;
    this.#pricerOf = oncePerKey((periodKey: number) => new PeriodPricer(cards, workspaceId, periodOfKey(periodKey)));
    this.#write = connection.prepare('INSERT OR REPLACE INTO costs VALUES (?, ?, ?, ?)');
    this.#delete = connection.prepare('DELETE FROM costs WHERE period_key = ? AND tenant_key = ?');
  }

  write(key: PricedKey): void {
    if (!this.isGiven) return;
    const { periodKey, tenantKey, tenantId, withdrawn } = key;
    const priced = this.#pricerOf(periodKey).price(tenantId, key, !withdrawn);
    if (priced === null) this.#delete.run(periodKey, tenantKey);
    else this.#write.run(periodKey, tenantKey, priced.card.cardKey, priced.charge?.amountMinor ?? null);
  }
}

/** Gives the figures of a period that stand now. */
function eachUsage(connection: LedgerDb, periodKey: number, use: (key: PricedKey) => void): void {
  const keys = connection
    .prepare(
      `SELECT u.tenant_key, u.period_key, u.tenant_key, t.tenant_id, u.credits_used, u.request_count, u.withdrawn, 1
       FROM tenant_usage u JOIN tenants t USING (tenant_key)
       WHERE u.period_key = ? AND u.tenant_key > ? ORDER BY u.tenant_key LIMIT ${KEYS_A_CHUNK}`,
    )
    .safeIntegers()
    .raw();
  eachKey((after) => keys.all(periodKey, after) as KeyRecord[], 0, use);
}

/** `withdrawn` and `isNew` are 0 or 1; one that is new cannot have a charge yet. */
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

/** Reads in chunks, because SQLite writes nothing on a connection that is still reading a statement. */
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
 * Writes the charge rows of periods that are not closed. What it writes for a key takes the place of what was there. Rows
 * are kept back and inserted many at a time, so whoever adds must `flush` in the end.
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

  /** Adds the charge of a key that has none. One that cannot be priced is kept as unknown, without lines. */
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

/** The line of a charge that is one price of all its credits: it stands in the charge itself. */
function ownLineOf({ lines }: Charge, credits: bigint): ChargeLine | null {
  const [line] = lines;
  return lines.length === 1 && line?.kind === 'usage' && line.credits === credits ? line : null;
}

/** Rows of one statement: with one each, calls into SQLite take longer than what they do. */
const ROWS_A_STATEMENT = 50;

interface Batch {
  common: readonly unknown[];
  named: Record<string, unknown>;
  own: unknown[];
}

/** Inserts rows by what they have in common, which is bound once a statement: binding all of it takes as long as inserting. */
class RowInserter {
  readonly #many;
  readonly #one;
  readonly #batches = new Map<string, Batch>();
  /** The last one, since what comes next mostly has the same in common. */
  #last: Batch = { common: [], named: {}, own: [] };
  readonly #common: readonly string[];
  readonly #columns: number;

  constructor(connection: LedgerDb, table: string, common: readonly string[], own: readonly string[]) {
    this.#common = common;
    this.#columns = own.length;
    const row = `(${[...common.map((column) => `@${column}`), ...own.map(() => '?')].join(', ')})`;
    const insert = `INSERT INTO ${table} (${[...common, ...own].join(', ')}) VALUES`;
    this.#one = connection.prepare(`${insert} ${row}`);
    this.#many = connection.prepare(`${insert} ${Array(ROWS_A_STATEMENT).fill(row).join(', ')}`);
  }

  add(common: readonly unknown[], own: readonly unknown[]): void {
    const batch = this.#batchOf(common);
    for (const value of own) batch.own.push(value);
    if (batch.own.length < ROWS_A_STATEMENT * this.#columns) return;
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
  /** Null: the rate cards stay. */
  cards: readonly RateCardText[] | null;
  /** Cost cards; null: they stay. */
  costs?: readonly RateCardText[] | null;
  source: CardSource;
  nowMs: number;
}

/** How many cards have come into force and gone out of it, and what was priced anew. */
interface CardsChange {
  added: number;
  retired: number;
  periods: PricedPeriod[];
}

/**
 * Puts cards into force, prices all periods that are not closed by them, and works out what all periods cost, in one transaction. Throws AppError
 * `unclear_cards` when it is open which of two cards counts.
 */
export function setCards(
  connection: LedgerDb,
  { cards, costs: costCards = null, source, nowMs }: CardsRequest,
): CardsChange {
  for (const given of [cards, costCards]) if (given !== null) refuseUnclear(given);
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
