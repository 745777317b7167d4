import type { LedgerDb } from '../../store/ledger-db.ts';
import { preparedSql } from '../../store/schema/drizzle.ts';
import { ENTRY_KINDS } from '../../store/schema/keys.ts';

/** Keys per row that SQLite joins: reading each key as its own row would take a third longer. */
export const KEYS_PER_READ = 4096;

/**
 * Consecutive keys of a period: the tenant numbers, then the credits of each, then its requests. Figures beyond 2^53
 * are the nearest double. Fewer than `KEYS_PER_READ` keys are the last ones.
 */
export type KnownRows = Float64Array<ArrayBuffer>;

/** A reader in another thread that loads the ledger's figures while this thread compares them, one period at a time. */
export interface FiguresAhead {
  /**
   * Starts with the first key of a period, if its connection sees the same head of the chain. Returns a function for
   * the next keys; it returns null when they are not ready in time or another period was started, and must not be
   * called for this period again.
   */
  begin(periodKey: number, head: { seq: number; digest: string }): () => KnownRows | null;
}

const statementOf = preparedSql(
  `SELECT json_group_array(tenant_key), json_group_array(credits_used), json_group_array(request_count)
       FROM (SELECT tenant_key, credits_used, request_count FROM tenant_usage
         WHERE period_key = ? AND tenant_key > ? AND withdrawn = 0 ORDER BY tenant_key LIMIT ${KEYS_PER_READ})`,
  'raw',
);

/** Reads the keys of a period after this one that are not withdrawn. */
export function readKnown(connection: LedgerDb, periodKey: number, after: number): KnownRows {
  const texts = statementOf(connection).get(periodKey, after) as string[];
  const columns = texts.map((text) => JSON.parse(text) as number[]);
  const keys = columns[0]?.length ?? 0;
  const rows = new Float64Array(keys * 3);
  for (const [place, column] of columns.entries()) rows.set(column, place * keys);
  return rows;
}

/** The kind and deltas of an entry. */
interface Change {
  kind: number;
  credits: number;
  requests: number;
}

const isExact = Number.isSafeInteger;

/**
 * The ledger's figures of one period, read in step with records in the same key order. Most records of a sync are
 * unchanged: detecting that here saves SQLite a look-up for each.
 */
export class KnownFigures {
  readonly #next: (after: number) => KnownRows;
  #rows: KnownRows = new Float64Array();
  #keys = 0;
  #at = 0;
  #isLast = false;
  #missed = false;
  #found = -1;

  /** `next` returns the keys after the given one; it is called once per position, in key order. */
  constructor(next: (after: number) => KnownRows) {
    this.#next = next;
  }

  /**
   * Reports whether the ledger has exactly these figures for the tenant; call it in ascending key order. False means
   * that they may differ: figures beyond 2^53 are read as the nearest double, which no smaller integer equals.
   */
  holds(tenantKey: number, credits: number | bigint, requests: number | bigint): boolean {
    this.#found = this.#find(tenantKey);
    return this.#found >= 0 && this.#credits() === credits && this.#requests() === requests;
  }

  /**
   * Returns the change from the figures of the last key passed to `holds` to these; null when doubles cannot express it
   * exactly.
   */
  changeTo(credits: number | bigint, requests: number | bigint): Change | null {
    if (this.#found < 0 || typeof credits === 'bigint' || typeof requests === 'bigint') return null;
    const before = { credits: this.#credits(), requests: this.#requests() };
    const change = { credits: credits - before.credits, requests: requests - before.requests };
    if (![before, change].every((each) => isExact(each.credits) && isExact(each.requests))) return null;
    const isMore = change.credits > 0 || (change.credits === 0 && change.requests > 0);
    return { kind: isMore ? ENTRY_KINDS.increased : ENTRY_KINDS.decreased, ...change };
  }

  /** Reports whether every key of the ledger was passed to `holds`. Call it last. */
  coversAllKeys(): boolean {
    while (!this.#missed && this.#at === this.#keys && !this.#isLast) this.#readOn();
    return !this.#missed && this.#at === this.#keys;
  }

  #credits(): number {
    return this.#rows[this.#keys + this.#found] as number;
  }

  #requests(): number {
    return this.#rows[2 * this.#keys + this.#found] as number;
  }

  /** Returns the position of a key, or -1. */
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
    // Released by hand: little other garbage accumulates here, so the collector would keep this memory for long.
    buffer.transfer(0);
    this.#keys = this.#rows.length / 3;
    this.#at = 0;
    this.#isLast = this.#keys < KEYS_PER_READ;
  }
}
