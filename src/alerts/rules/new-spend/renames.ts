import { isoTime } from '../../../core/clock.ts';
import { DAY_MS } from '../../../core/durations.ts';
import { oncePerKey } from '../../../core/one-at-a-time.ts';
import { perConnection } from '../../../ledger/store/schema/drizzle.ts';
import { workspaceKeyOf } from '../../../ledger/store/schema/keys.ts';
import { roundedSpanMs } from '../../forecast/run-moments.ts';
import { perRun, type RuleContext } from '../context/rule-context.ts';
import type { UseBefore } from '../drop/stopped.ts';
import type { PredecessorTenant } from '../observation.ts';
import { isSimilarRate, maySucceed } from './rename.ts';

/** A run looks for the successors of at most this many stopped tenants. */
const MAX_LOOKS = 100;

interface NewTenant {
  periodKey: number;
  tenantKey: number;
  /** When a run first saw the tenant in the period, in milliseconds since the epoch; null if that is unknown. */
  beganMs: number | null;
}

// Written like the index, so that SQLite uses it. Pairs are found even after their month has left the alert window.
const OF_NEW_TENANTS = `FROM alerts WHERE rule = 'new_spend' AND coalesce(workspace_key, 0) = @workspaceKey
  AND coalesce(period_key, 0)`;

const renameStatements = perConnection((connection) => ({
  newTenants: connection
    .prepare(
      `SELECT u.tenant_key, u.first_run_key FROM tenant_usage u
       WHERE u.period_key = @periodKey AND u.credits_used > 0 AND u.withdrawn = 0 AND NOT EXISTS (
         SELECT 1 FROM tenant_usage b WHERE b.period_key = @periodKey - 1 AND b.tenant_key = u.tenant_key
           AND b.credits_used > 0)`,
    )
    .raw(),
  pairs: connection
    .prepare(
      `SELECT basis ->> '$.predecessor.tenantKey', tenant_key ${OF_NEW_TENANTS} BETWEEN @periodKey - 1 AND @periodKey + 1
         AND level = 'likely' AND state <> 'resolved'`,
    )
    .raw(),
  notified: connection
    .prepare(
      `SELECT 1 ${OF_NEW_TENANTS} = @periodKey AND tenant_key = @tenantKey AND state IN ('firing', 'acknowledged')`,
    )
    .pluck(),
}));

/** Finds pairs of stopped tenants and their successors. Each successor has one predecessor. */
class Renames {
  readonly #context: RuleContext;
  readonly #found = new Map<number, PredecessorTenant>();
  readonly #newTenants: (periodKey: number) => readonly NewTenant[];
  readonly #pairs: (periodKey: number) => ReadonlyMap<number, number>;
  #looks = 0;

  constructor(context: RuleContext) {
    const { connection, usageHistory } = context;
    const { newTenants, pairs } = renameStatements(connection);
    this.#context = context;
    this.#newTenants = oncePerKey((periodKey) =>
      (newTenants.all({ periodKey }) as [number, number][]).map(([tenantKey, runKey]) => ({
        periodKey,
        tenantKey,
        beganMs: usageHistory.endOf(runKey),
      })),
    );
    this.#pairs = oncePerKey(
      (periodKey) => new Map(pairs.all({ periodKey, workspaceKey: workspaceKeyOf(periodKey) }) as [number, number][]),
    );
  }

  /** Reports whether a tenant's successor was notified around this period. */
  isNotified(periodKey: number, tenantKey: number): boolean {
    return this.#pairs(periodKey).has(tenantKey);
  }

  /** Returns the predecessor of a new tenant that this run found. */
  predecessorOf(tenantKey: number): PredecessorTenant | null {
    return this.#found.get(tenantKey) ?? null;
  }

  /**
   * Finds the successor of a stopped tenant: the new tenant with the closest usage. `isNotified` is false while the
   * successor has no firing alert yet, usually because it has not reached its floor. Null without a successor, or if
   * the successor fits another stopped tenant better.
   */
  look(
    periodKey: number,
    tenantKey: number,
    { lastMs, use }: { lastMs: number; use: UseBefore },
  ): { isNotified: boolean } | null {
    this.#looks += 1;
    if (this.#looks > MAX_LOOKS) return null;
    const daily = (use.credits * BigInt(DAY_MS)) / BigInt(Math.max(DAY_MS, use.spanMs));
    const notified = new Set(this.#pairs(periodKey).values());
    const begun = [periodKey, periodKey - 1].flatMap((key) => this.#newTenants(key));
    const { connection, nowMs } = this.#context;
    const [successor] = begun
      .filter(({ beganMs }) => beganMs !== null && maySucceed({ beganMs, lastMs, nowMs }))
      .map((newTenant) => ({ newTenant, newDaily: this.#dailyOf(newTenant) }))
      .filter(({ newTenant, newDaily }) => !notified.has(newTenant.tenantKey) && isSimilarRate(newDaily, daily))
      .filter(({ newTenant, newDaily }) => {
        const other = this.#found.get(newTenant.tenantKey);
        return other === undefined || rateDistance(daily, newDaily) < rateDistance(other.daily, newDaily);
      })
      .sort((a, b) => Number(rateDistance(daily, a.newDaily) - rateDistance(daily, b.newDaily)));
    if (successor === undefined) return null;
    const { newTenant, newDaily } = successor;
    this.#found.set(newTenant.tenantKey, { tenantKey, daily, newDaily, lastDay: isoTime(lastMs).slice(0, 10) });
    const ofWorkspace = { ...newTenant, workspaceKey: workspaceKeyOf(periodKey) };
    return { isNotified: renameStatements(connection).notified.get(ofWorkspace) !== undefined };
  }

  /** Returns the tenant's credits a day since its first reading. */
  #dailyOf({ periodKey, tenantKey, beganMs }: NewTenant): bigint {
    const { usageHistory, nowMs } = this.#context;
    if (beganMs === null) return 0n;
    const [from, to] = [beganMs, nowMs].map((atMs) => usageHistory.sinceStart(periodKey + 1, tenantKey, atMs));
    const spanMs = Math.max(DAY_MS, roundedSpanMs(beganMs, nowMs));
    return from == null || to == null ? 0n : ((to - from) * BigInt(DAY_MS)) / BigInt(spanMs);
  }
}

function rateDistance(a: bigint, b: bigint): bigint {
  return a < b ? b - a : a - b;
}

export const renames = perRun((context) => new Renames(context));
