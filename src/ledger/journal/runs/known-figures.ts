import type Database from 'better-sqlite3';

/** Keys that are read at a time. */
const KEYS_A_READ = 4096;

type KnownFigure = [tenantKey: number, credits: number, requests: number];

/**
 * What the ledger holds of one period, read along with records that come in the order of its keys. Most records of a sync
 * say what is known already: to see that here spares SQLite a look-up for each.
 */
export class KnownFigures {
  readonly #read: Database.Statement;
  readonly #periodKey: number;
  #figures: KnownFigure[] = [];
  #at = 0;
  #isLast = false;

  constructor(connection: Database.Database, periodKey: number) {
    this.#read = connection
      .prepare(
        `SELECT tenant_key, credits_used, request_count FROM tenant_usage
         WHERE period_key = ? AND tenant_key > ? AND withdrawn = 0 ORDER BY tenant_key LIMIT ${KEYS_A_READ}`,
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
      const figure = this.#figures[this.#at];
      if (figure === undefined) {
        if (this.#isLast) return false;
        this.#readOn();
      } else if (figure[0] < tenantKey) {
        this.#at += 1;
      } else {
        return figure[0] === tenantKey && figure[1] === credits && figure[2] === requests;
      }
    }
  }

  #readOn(): void {
    const after = this.#figures.at(-1)?.[0] ?? 0;
    this.#figures = this.#read.all(this.#periodKey, after) as KnownFigure[];
    this.#at = 0;
    this.#isLast = this.#figures.length < KEYS_A_READ;
  }
}
