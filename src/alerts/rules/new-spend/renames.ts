import { isoTime } from '../../../core/clock.ts';
import { oncePerKey } from '../../../core/one-at-a-time.ts';
import { perConnection } from '../../../ledger/store/schema/drizzle.ts';
import { workspaceKeyOf } from '../../../ledger/store/schema/keys.ts';
import { spanOf } from '../../forecast/run-moments.ts';
import type { UseBefore } from '../drop/stopped.ts';
import { type Judging, perRun } from '../judging/judging.ts';
import type { Former } from '../observation.ts';
import { goesOnFor, isOfVolume } from './rename.ts';

const DAY_MS = 86_400_000;
/** With more stops at once, no pairs are searched. */
const MOST_LOOKS = 100;

interface Newcomer {
  periodKey: number;
  tenantKey: number;
  /** When it was seen first; null when that is unknown. */
  beganMs: number | null;
}

// SQL in the form of the index. Notified pairs remain, also after their month left the window.
const OF_NEWCOMERS = `FROM alerts WHERE rule = 'new_spend' AND coalesce(workspace_key, 0) = @workspaceKey
  AND coalesce(period_key, 0)`;

const statementsOf = perConnection((connection) => ({
  newcomers: connection
    .prepare(
      `SELECT u.tenant_key, u.first_run_key FROM tenant_usage u
       WHERE u.period_key = @periodKey AND u.credits_used > 0 AND u.withdrawn = 0 AND NOT EXISTS (
         SELECT 1 FROM tenant_usage b WHERE b.period_key = @periodKey - 1 AND b.tenant_key = u.tenant_key
           AND b.credits_used > 0)`,
    )
    .raw(),
  pairs: connection
    .prepare(
      `SELECT basis ->> '$.former.tenantKey', tenant_key ${OF_NEWCOMERS} BETWEEN @periodKey - 1 AND @periodKey + 1
         AND level = 'likely' AND state <> 'resolved'`,
    )
    .raw(),
  told: connection
    .prepare(
      `SELECT 1 ${OF_NEWCOMERS} = @periodKey AND tenant_key = @tenantKey AND state IN ('firing', 'acknowledged')`,
    )
    .pluck(),
}));

/** Pairs of stopped tenants and their successors; each successor has one predecessor. */
class Renames {
  readonly #judging: Judging;
  readonly #found = new Map<number, Former>();
  readonly #newcomers: (periodKey: number) => readonly Newcomer[];
  readonly #pairs: (periodKey: number) => ReadonlyMap<number, number>;
  #looks = 0;

  constructor(judging: Judging) {
    const { connection, curves } = judging;
    const { newcomers, pairs } = statementsOf(connection);
    this.#judging = judging;
    this.#newcomers = oncePerKey((periodKey) =>
      (newcomers.all({ periodKey }) as [number, number][]).map(([tenantKey, runKey]) => ({
        periodKey,
        tenantKey,
        beganMs: curves.endOf(runKey),
      })),
    );
    this.#pairs = oncePerKey(
      (periodKey) => new Map(pairs.all({ periodKey, workspaceKey: workspaceKeyOf(periodKey) }) as [number, number][]),
    );
  }

  /** Reports whether a tenant's successor was notified in about that period. */
  isTold(periodKey: number, tenantKey: number): boolean {
    return this.#pairs(periodKey).has(tenantKey);
  }

  /** Returns the predecessor of a new tenant that this run found. */
  formerOf(tenantKey: number): Former | null {
    return this.#found.get(tenantKey) ?? null;
  }

  /**
   * Finds the successor of a stopped tenant, the one with the closest usage. Reports whether it was notified or has yet
   * to reach its floor. Null without one, or if it fits another tenant better.
   */
  look(
    periodKey: number,
    tenantKey: number,
    { lastMs, use }: { lastMs: number; use: UseBefore },
  ): { isTold: boolean } | null {
    this.#looks += 1;
    if (this.#looks > MOST_LOOKS) return null;
    const daily = (use.credits * BigInt(DAY_MS)) / BigInt(Math.max(DAY_MS, use.spanMs));
    const told = new Set(this.#pairs(periodKey).values());
    const begun = [periodKey, periodKey - 1].flatMap((key) => this.#newcomers(key));
    const { connection, nowMs } = this.#judging;
    const [heir] = begun
      .filter(({ beganMs }) => beganMs !== null && goesOnFor({ beganMs, lastMs, nowMs }))
      .map((newcomer) => ({ newcomer, newDaily: this.#dailyOf(newcomer) }))
      .filter(({ newcomer, newDaily }) => !told.has(newcomer.tenantKey) && isOfVolume(newDaily, daily))
      .filter(({ newcomer, newDaily }) => {
        const other = this.#found.get(newcomer.tenantKey);
        return other === undefined || apart(daily, newDaily) < apart(other.daily, newDaily);
      })
      .sort((a, b) => Number(apart(daily, a.newDaily) - apart(daily, b.newDaily)));
    if (heir === undefined) return null;
    const { newcomer, newDaily } = heir;
    this.#found.set(newcomer.tenantKey, { tenantKey, daily, newDaily, lastDay: isoTime(lastMs).slice(0, 10) });
    const ofWorkspace = { ...newcomer, workspaceKey: workspaceKeyOf(periodKey) };
    return { isTold: statementsOf(connection).told.get(ofWorkspace) !== undefined };
  }

  /** Credits a day since its first reading. */
  #dailyOf({ periodKey, tenantKey, beganMs }: Newcomer): bigint {
    const { curves, nowMs } = this.#judging;
    if (beganMs === null) return 0n;
    const [from, to] = [beganMs, nowMs].map((atMs) => curves.sinceStart(periodKey + 1, tenantKey, atMs));
    const spanMs = Math.max(DAY_MS, spanOf(beganMs, nowMs));
    return from == null || to == null ? 0n : ((to - from) * BigInt(DAY_MS)) / BigInt(spanMs);
  }
}

function apart(a: bigint, b: bigint): bigint {
  return a < b ? b - a : a - b;
}

export const renames = perRun((judging) => new Renames(judging));
