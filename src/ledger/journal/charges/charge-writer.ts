import type { Charge, ChargeLine } from '../../../billing/rates/charge.ts';
import type { PeriodPricer } from '../../../billing/rates/period-pricer.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import type { StoredCard } from './card-store.ts';

/** A tenant's figures in one period. */
export interface PricedKey {
  periodKey: number;
  tenantKey: number;
  tenantId: string;
  credits: bigint;
  withdrawn: boolean;
}

/**
 * Writes the charge rows of periods that are not closed. What it writes for a key takes the place of what was there. Rows
 * are kept back and inserted many at a time, so whoever adds must `flush` in the end.
 */
export class ChargeWriter {
  readonly #charges;
  readonly #lines;
  readonly #delete;
  readonly #deleteLines;

  constructor(connection: LedgerConnection) {
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
      ['tenant_key', 'credits', 'amount_minor'],
    );
  }

  clear(periodKey: number, tenantKey: number): void {
    this.#delete.run(periodKey, tenantKey);
    this.#deleteLines.run(periodKey, tenantKey);
  }

  /** Adds the charge of a key that has none. One that cannot be priced is kept as unknown, without lines. */
  add(key: PricedKey, pricer: PeriodPricer<StoredCard>): void {
    const priced = pricer.price(key.tenantId, key.credits, !key.withdrawn);
    if (priced === null) return;
    const { card, charge } = priced;
    const { periodKey, tenantKey } = key;
    const own = charge === null ? null : ownLineOf(charge, key.credits);
    const { tier = null, unitCredits = null, unitPrice = null } = own ?? {};
    const ofCharge = [tenantKey, key.credits, charge?.amountMinor ?? null];
    this.#charges.add([periodKey, card.cardKey, tier, unitCredits, unitPrice], ofCharge);
    if (charge === null || own !== null) return;
    let number = 0;
    for (const { kind, tier, credits, unitCredits, unitPrice, amountMinor } of charge.lines) {
      number += 1;
      this.#lines.add([periodKey, number, kind, tier, unitCredits, unitPrice], [tenantKey, credits, amountMinor]);
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

/** Inserts rows by what they have in common, which is bound once a statement: binding all of it takes as long as inserting. */
class RowInserter {
  readonly #many;
  readonly #one;
  readonly #batches = new Map<string, { common: Record<string, unknown>; own: unknown[] }>();
  readonly #common: readonly string[];
  readonly #columns: number;

  constructor(connection: LedgerConnection, table: string, common: readonly string[], own: readonly string[]) {
    this.#common = common;
    this.#columns = own.length;
    const row = `(${[...common.map((column) => `@${column}`), ...own.map(() => '?')].join(', ')})`;
    const insert = `INSERT INTO ${table} (${[...common, ...own].join(', ')}) VALUES`;
    this.#one = connection.prepare(`${insert} ${row}`);
    this.#many = connection.prepare(`${insert} ${Array(ROWS_A_STATEMENT).fill(row).join(', ')}`);
  }

  add(common: readonly unknown[], own: readonly unknown[]): void {
    const key = common.join(' ');
    let batch = this.#batches.get(key);
    if (batch === undefined) {
      batch = { common: Object.fromEntries(this.#common.map((column, index) => [column, common[index]])), own: [] };
      this.#batches.set(key, batch);
    }
    batch.own.push(...own);
    if (batch.own.length < ROWS_A_STATEMENT * this.#columns) return;
    this.#many.run(batch.common, batch.own);
    batch.own = [];
  }

  flush(): void {
    for (const { common, own } of this.#batches.values()) {
      for (let at = 0; at < own.length; at += this.#columns) this.#one.run(common, own.slice(at, at + this.#columns));
    }
    this.#batches.clear();
  }
}
