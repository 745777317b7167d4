import { PromiseBroken } from './fault.ts';
import type { LedgerView } from './ledger-view.ts';

interface Link {
  position: bigint;
  previous_digest: string;
  digest: string;
}

/**
 * Holds after every commit: the links stand in one chain without a gap, entries belong to applied runs only and each
 * run has as many as it says, and the sum of a key's deltas is its state.
 */
export class SoundnessOracle {
  #position = 0n;
  #head = '';
  #entryId = 0n;

  check(ledger: LedgerView): void {
    const before = this.#position;
    this.#checkChain(ledger);
    this.#checkEntries(ledger, before);
  }

  #checkChain(ledger: LedgerView): void {
    const links = ledger.all<Link>(
      `SELECT applied_seq AS position, previous_digest, digest FROM runs WHERE applied_seq > ?
       UNION ALL SELECT event_seq, previous_digest, digest FROM period_events WHERE event_seq > ?
       UNION ALL SELECT act_seq, previous_digest, digest FROM acts WHERE act_seq > ? ORDER BY 1`,
      ...Array<bigint>(3).fill(this.#position),
    );
    for (const { position, previous_digest, digest } of links) {
      if (position !== this.#position + 1n) {
        throw new PromiseBroken('the chain has no gap', `link ${position} follows link ${this.#position}`);
      }
      if (this.#head !== '' && previous_digest !== this.#head) {
        throw new PromiseBroken('each link names the one before', `link ${position} names ${previous_digest}`);
      }
      this.#position = position;
      this.#head = digest;
    }
  }

  #checkEntries(ledger: LedgerView, positionBefore: bigint): void {
    const [half] = ledger.all<{ run_id: string; status: string }>(
      `SELECT r.run_id, r.status FROM usage_entries e LEFT JOIN runs r ON r.run_key = e.run_key
       WHERE e.entry_id > ? AND r.applied_seq IS NULL`,
      this.#entryId,
    );
    if (half !== undefined)
      throw new PromiseBroken('nothing is half visible', `${half.run_id} is ${half.status} and has entries`);
    const [short] = ledger.all<{ run_id: string; entries: bigint; found: bigint }>(
      `SELECT r.run_id, r.entries, count(e.entry_id) AS found FROM runs r
       LEFT JOIN usage_entries e ON e.run_key = r.run_key AND e.entry_id >= r.first_entry_id
       WHERE r.applied_seq > ? GROUP BY r.run_key HAVING found <> r.entries`,
      positionBefore,
    );
    if (short !== undefined) {
      throw new PromiseBroken(
        'a run is there whole',
        `${short.run_id} says ${short.entries} entries and has ${short.found}`,
      );
    }
    const [wrong] = ledger.all<{ period_key: bigint; tenant_key: bigint; total: bigint; credits_used: bigint | null }>(
      `SELECT e.period_key, e.tenant_key, u.credits_used,
         (SELECT sum(s.credits_delta) FROM usage_entries s WHERE s.period_key = e.period_key AND s.tenant_key = e.tenant_key) AS total
       FROM (SELECT DISTINCT period_key, tenant_key FROM usage_entries WHERE entry_id > ?) e
       LEFT JOIN tenant_usage u ON u.period_key = e.period_key AND u.tenant_key = e.tenant_key
       WHERE total IS NOT coalesce(u.credits_used, 0)`,
      this.#entryId,
    );
    if (wrong !== undefined) {
      throw new PromiseBroken(
        'sums equal state',
        `period ${wrong.period_key}, tenant ${wrong.tenant_key}: ${wrong.total} against ${wrong.credits_used}`,
      );
    }
    this.#entryId = ledger.value<bigint | null>('SELECT max(entry_id) FROM usage_entries') ?? 0n;
  }

  /** Of the head, for the trace. */
  get head(): string {
    return `${this.#position} ${this.#head}`;
  }

  /** Once everything has been quiet for a while. */
  checkAtRest(ledger: LedgerView): void {
    const integrity = ledger.value<string>('PRAGMA integrity_check');
    if (integrity !== 'ok') throw new PromiseBroken('the file is whole', integrity);
  }
}
