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
      'period_key, tenant_key, card_key, credits_used, amount_minor',
    );
    this.#lines = new RowInserter(
      connection,
      'charge_lines',
      'period_key, tenant_key, line_number, kind, tier, credits, unit_credits, unit_price, amount_minor',
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
    this.#charges.add(periodKey, tenantKey, card.cardKey, key.credits, charge?.amountMinor ?? null);
    if (charge === null) return;
    let number = 0;
    for (const { kind, tier, credits, unitCredits, unitPrice, amountMinor } of charge.lines) {
      number += 1;
      this.#lines.add(periodKey, tenantKey, number, kind, tier, credits, unitCredits, unitPrice, amountMinor);
    }
  }

  flush(): void {
    this.#charges.flush();
    this.#lines.flush();
  }
}

/** Rows of one statement: with one each, calls into SQLite take longer than what they do. */
const ROWS_A_STATEMENT = 50;

class RowInserter {
  readonly #many;
  readonly #one;
  readonly #columns: number;
  #values: unknown[] = [];

  constructor(connection: LedgerConnection, table: string, columns: string) {
    this.#columns = columns.split(',').length;
    const row = `(${Array(this.#columns).fill('?').join(', ')})`;
    const insert = `INSERT INTO ${table} (${columns}) VALUES`;
    this.#one = connection.prepare(`${insert} ${row}`);
    this.#many = connection.prepare(`${insert} ${Array(ROWS_A_STATEMENT).fill(row).join(', ')}`);
  }

  add(...row: unknown[]): void {
    this.#values.push(...row);
    if (this.#values.length < ROWS_A_STATEMENT * this.#columns) return;
    this.#many.run(this.#values);
    this.#values = [];
  }

  flush(): void {
    for (let at = 0; at < this.#values.length; at += this.#columns) {
      this.#one.run(this.#values.slice(at, at + this.#columns));
    }
    this.#values = [];
  }
}
