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

/** Writes the charge rows of periods that are not closed. What it writes for a key takes the place of what was there. */
export class ChargeWriter {
  readonly #insert;
  readonly #insertLine;
  readonly #delete;
  readonly #deleteLines;

  constructor(connection: LedgerConnection) {
    this.#delete = connection.prepare('DELETE FROM charges WHERE period_key = ? AND tenant_key = ?');
    this.#deleteLines = connection.prepare('DELETE FROM charge_lines WHERE period_key = ? AND tenant_key = ?');
    this.#insert = connection.prepare(
      'INSERT INTO charges (period_key, tenant_key, card_key, credits_used, amount_minor) VALUES (?, ?, ?, ?, ?)',
    );
    this.#insertLine = connection.prepare(
      `INSERT INTO charge_lines
         (period_key, tenant_key, line_number, kind, tier, credits, unit_credits, unit_price, amount_minor)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
    this.#insert.run(periodKey, tenantKey, card.cardKey, key.credits, charge?.amountMinor ?? null);
    charge?.lines.forEach(({ kind, tier, credits, unitCredits, unitPrice, amountMinor }, index) => {
      this.#insertLine.run(periodKey, tenantKey, index + 1, kind, tier, credits, unitCredits, unitPrice, amountMinor);
    });
  }
}
