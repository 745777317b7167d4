import type { LedgerDb } from '../../store/ledger-db.ts';
import { preparedSql } from '../../store/schema/drizzle.ts';
import { ENTRY_KINDS } from '../../store/schema/keys.ts';

/** Keys that SQLite joins into one row: reading each as a row of its own would take a third longer. */
export const KEYS_A_READ = 4096;

/**
 * Some keys of a period in their order: the numbers of the tenants, then the credits of each, then its requests. Figures
 * beyond 2^53 are the nearest double. Fewer than `KEYS_A_READ` are the last ones.
 */
export type KnownRows = Float64Array<ArrayBuffer>;

/** Another thread that reads what the ledger holds while this one compares it, one period at a time. */
export interface FiguresAhead {
  /**
   * Begins with the first key of a period, if the ledger that it reads has this end of the chain. Returns what gives the next
   * keys; null when there are none in time, or another period has been begun: of this one it is to be asked no more.
   */
  begin(periodKey: number, head: { seq: number; digest: string }): () => KnownRows | null;
}

const statementOf = preparedSql(
  `SELECT json_group_array(tenant_key), json_group_array(credits_used), json_group_array(request_count)
       FROM (SELECT tenant_key, credits_used, request_count FROM tenant_usage
         WHERE period_key = ? AND tenant_key > ? AND withdrawn = 0 ORDER BY tenant_key LIMIT ${KEYS_A_READ})`,
  'raw',
);

/** Reads the keys after this one that the ledger holds of a period and that are not withdrawn. */
export function readKnown(connection: LedgerDb, periodKey: number, after: number): KnownRows {
  const texts = statementOf(connection).get(periodKey, after) as string[];
  const columns = texts.map((text) => JSON.parse(text) as number[]);
  const keys = columns[0]?.length ?? 0;
  const rows = new Float64Array(keys * 3);
  for (const [place, column] of columns.entries()) rows.set(column, place * keys);
  return rows;
}

/** What an entry says beside the figures that it leaves. */
interface Change {
  kind: number;
  credits: number;
  requests: number;
}

const isExact = Number.isSafeInteger;

/**
 * What the ledger holds of one period, read along with records that come in the order of its keys. Most records of a sync
 * say what is known already: to see that here spares SQLite a look-up for each.
 */
export class KnownFigures {
  readonly #next: (after: number) => KnownRows;
  #rows: KnownRows = new Float64Array();
  #keys = 0;
  #at = 0;
  #isLast = false;
  #missed = false;
  #found = -1;

  /** `next` gives the keys after this one; each is asked for once, in their order. */
  constructor(next: (after: number) => KnownRows) {
    this.#next = next;
  }

  /**
   * Whether the ledger holds these very figures of the tenant; keys must be asked for in ascending order. False means
   * that it may hold others: figures beyond 2^53 are read as the nearest double, which no smaller integer equals.
   */
  holds(tenantKey: number, credits: number | bigint, requests: number | bigint): boolean {
    this.#found = this.#find(tenantKey);
    return this.#found >= 0 && this.#credits() === credits && this.#requests() === requests;
  }

  /** By how much the figures of the key that was asked for last change to these; null where no double says it exactly. */
  changeTo(credits: number | bigint, requests: number | bigint): Change | null {
    if (this.#found < 0 || typeof credits === 'bigint' || typeof requests === 'bigint') return null;
    const before = { credits: this.#credits(), requests: this.#requests() };
    const change = { credits: credits - before.credits, requests: requests - before.requests };
    if (![before, change].every((each) => isExact(each.credits) && isExact(each.requests))) return null;
    const isMore = change.credits > 0 || (change.credits === 0 && change.requests > 0);
    return { kind: isMore ? ENTRY_KINDS.increased : ENTRY_KINDS.decreased, ...change };
  }

  /** Whether each key that the ledger holds has been asked for. To be asked last. */
  areAllAsked(): boolean {
    while (!this.#missed && this.#at === this.#keys && !this.#isLast) this.#readOn();
    return !this.#missed && this.#at === this.#keys;
  }

  #credits(): number {
    return this.#rows[this.#keys + this.#found] as number;
  }

  #requests(): number {
    return this.#rows[2 * this.#keys + this.#found] as number;
  }

  /** The place of a key, or -1. */
  #find(tenantKey: number): number {
    for (;;) {
      if (this.#at === this.#keys) {
        if (this.#isLast) return -1;
        this.#readOn();
        continue;
      }
      const key = this.#rows[this.#at] as number;
      if (key > tenantKey) return -1;
      this.#at += 1;
      if (key === tenantKey) return this.#at - 1;
      this.#missed = true;
    }
  }

  #readOn(): void {
    const after = this.#keys === 0 ? 0 : (this.#rows[this.#keys - 1] as number);
    const { buffer } = this.#rows;
    this.#rows = this.#next(after);
    // So little else becomes garbage here that what was read would wait long for the collector.
    buffer.transfer(0);
    this.#keys = this.#rows.length / 3;
    this.#at = 0;
    this.#isLast = this.#keys < KEYS_A_READ;
  }
}
