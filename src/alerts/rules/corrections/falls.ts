import { isoTime } from '../../../core/clock.ts';
import { ageMs } from '../../../core/stored-time.ts';
import { ENTRY_KINDS } from '../../../ledger/store/schema/keys.ts';
import { type Judging, perRun } from '../judging/judging.ts';
import { bringsBack, DAYS_OF_FALLS, USUAL_DAYS } from './judge-regression.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** A counter that is corrected night after night falls again by then; the run at the same hour counts. */
const STANDS_AFTER_MS = DAY_MS + HOUR_MS;

interface EntryRow {
  delta: bigint;
  after: bigint;
  at: string;
}

/** How the counter of a tenant's period fell, and what came after. */
class Falls {
  readonly #nowMs: number;
  /** The last entry before the run. */
  readonly #before: number;
  readonly #statements;

  constructor({ connection, merged, nowMs }: Judging) {
    this.#nowMs = nowMs;
    this.#before = merged.lastEntryIdBefore;
    const entries = (where: string) =>
      connection
        .prepare(
          `SELECT e.credits_delta AS delta, e.credits_after AS after, r.finished_at AS at
           FROM usage_entries e JOIN runs r ON r.run_key = e.run_key
           WHERE e.tenant_key = @tenantKey AND e.entry_id <= @before AND ${where} ORDER BY e.entry_id`,
        )
        .safeIntegers();
    const fell = `e.kind = ${ENTRY_KINDS.decreased}`;
    this.#statements = {
      earlier: entries(`e.period_key IN (@periodKey, @periodKey - 1) AND ${fell} AND r.finished_at > @since`),
      sinceLast: entries(
        `e.period_key = @periodKey AND e.entry_id >= (SELECT max(l.entry_id) FROM usage_entries l
           WHERE l.period_key = @periodKey AND l.tenant_key = @tenantKey AND l.entry_id <= @before
             AND l.kind = ${ENTRY_KINDS.decreased})`,
      ),
      fallsNow: connection
        .prepare(
          'SELECT 1 FROM usage_entries WHERE entry_id > @before AND +period_key = @periodKey AND tenant_key = @tenantKey AND credits_delta < 0',
        )
        .pluck(),
    };
  }

  /** The most that the counter fell by in the days before this run, when it fell on several of them; else null. */
  usual(periodKey: number, tenantKey: number): bigint | null {
    const [nowMs, before] = [this.#nowMs, this.#before];
    const since = isoTime(nowMs - DAYS_OF_FALLS * DAY_MS);
    const falls = this.#statements.earlier.all({ periodKey, tenantKey, before, since }) as EntryRow[];
    if (new Set(falls.map(({ at }) => at.slice(0, 10))).size < USUAL_DAYS) return null;
    return falls.reduce((most, { delta }) => (-delta > most ? -delta : most), 0n);
  }

  /** Whether the counter fell less than a day before this run, but for one that falls at the same hour each day. */
  isRecent(periodKey: number, tenantKey: number): boolean {
    const [nowMs, before] = [this.#nowMs, this.#before];
    const [fall] = this.#statements.sinceLast.all({ periodKey, tenantKey, before }) as EntryRow[];
    return fall !== undefined && (ageMs(Date.parse(fall.at), nowMs) ?? DAY_MS) < DAY_MS - HOUR_MS;
  }

  /** Whether a reading since the last fall has brought back so many credits, and more than a day has shown no other fall. */
  isRestored(key: { periodKey: number; tenantKey: number; startMs: number }, fell: bigint): boolean {
    const [nowMs, before] = [this.#nowMs, this.#before];
    const { periodKey, tenantKey, startMs } = key;
    const [fall, ...later] = this.#statements.sinceLast.all({ periodKey, tenantKey, before }) as EntryRow[];
    if (fall === undefined || (ageMs(Date.parse(fall.at), nowMs) ?? 0) < STANDS_AFTER_MS) return false;
    if (this.#statements.fallsNow.get({ periodKey, tenantKey, before }) !== undefined) return false;
    let lastMs = Date.parse(fall.at);
    const beforeFall = fall.after - fall.delta;
    const passedMs = BigInt(Math.max(1, lastMs - startMs));
    return later.some(({ delta, at }) => {
      const atMs = Date.parse(at);
      const usual = (beforeFall * BigInt(Math.max(0, atMs - lastMs))) / passedMs;
      lastMs = atMs;
      return bringsBack(delta, { fell, usual });
    });
  }
}

export const falls = perRun((judging) => new Falls(judging));
