import { isoTime } from '../../../core/clock.ts';
import { DAY_MS, HOUR_MS } from '../../../core/durations.ts';
import { periodStartMs } from '../../../core/period.ts';
import { ageMs } from '../../../core/stored-time.ts';
import { ENTRY_KINDS } from '../../../ledger/store/schema/keys.ts';
import { roundUpMinCredits } from '../../figures/threshold.ts';
import { NO_USAGE, type UsageFigures } from '../../figures/usage-figures.ts';
import { entriesOfKind } from '../context/entries-of-kind.ts';
import { perRun, type RuleContext, type TenantFacts } from '../context/rule-context.ts';
import { clear, holds, type Judgement, UNDECIDED } from '../judgement.ts';
import type { Detection, OpenAlert, RuleResult } from '../rule.ts';

export const regressionDetection: Detection = {
  inRun: ({ merged, factsOf }) =>
    entriesOfKind(merged, 'decreased').filter(({ periodKey }) => !factsOf(periodKey).phase.over),
  ofTenant: judgeRegressionOfTenant,
};

/** Judges a tenant. `before` are its figures before this run reduced them; absent if this run did not reduce them. */
function judgeRegressionOfTenant(
  context: RuleContext,
  tenant: TenantFacts,
  known: OpenAlert | null,
  before?: UsageFigures,
): RuleResult | null {
  const { periodKey, tenantKey } = tenant;
  const current = tenant.current ?? NO_USAGE;
  const startMs = periodStartMs(context.factsOf(periodKey).period);
  const history = falls(context);
  const isNew = before !== undefined;
  const lost = known === null ? null : (known.magnitude ?? 0n);
  const judgement = judgeRegression({
    fall: isNew ? { missing: before.credits - current.credits, before: before.credits } : null,
    lost: lost !== null && (!isNew || history.isRecent(periodKey, tenantKey)) ? lost : 0n,
    floor: roundUpMinCredits(context.settings.of(context.tenantId(tenantKey))),
    usual: isNew ? history.usual(periodKey, tenantKey) : null,
    restored: !isNew && lost !== null && history.isRestored({ periodKey, tenantKey, startMs }, lost),
  });
  const magnitude = judgement.verdict === 'holds' ? (judgement.finding.magnitude ?? 0n) : null;
  // Another fall that is smaller than the known loss changes nothing.
  if (isNew && lost !== null && (magnitude === null || magnitude <= lost)) return null;
  // The compared figure is what the counter would be without the loss.
  const missing = judgement.verdict === 'clear' ? 0n : (magnitude ?? lost ?? 0n);
  const previous = { credits: current.credits + missing, requests: (before ?? current).requests };
  return { judgement, previous };
}

/**
 * The loss is treated as restored only if no other fall followed for this long. A counter that is corrected every night
 * falls again before that.
 */
const RESTORED_AFTER_MS = DAY_MS + HOUR_MS;

interface EntryRow {
  delta: bigint;
  after: bigint;
  at: string;
}

/** Reads the earlier falls of a tenant's counter, and the readings after the last fall. */
class Falls {
  readonly #nowMs: number;
  /** Id of the last entry before this run. */
  readonly #before: number;
  readonly #statements;

  constructor({ connection, merged, nowMs }: RuleContext) {
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

  /**
   * Returns the largest recent fall if the counter fell on at least USUAL_DAYS of the last DAYS_OF_FALLS days; null
   * otherwise.
   */
  usual(periodKey: number, tenantKey: number): bigint | null {
    const [nowMs, before] = [this.#nowMs, this.#before];
    const since = isoTime(nowMs - DAYS_OF_FALLS * DAY_MS);
    const falls = this.#statements.earlier.all({ periodKey, tenantKey, before, since }) as EntryRow[];
    if (new Set(falls.map(({ at }) => at.slice(0, 10))).size < USUAL_DAYS) return null;
    return falls.reduce((most, { delta }) => (-delta > most ? -delta : most), 0n);
  }

  /**
   * Reports whether the counter fell less than a day ago. The limit is slightly less than a day, so that daily falls at
   * the same hour do not add up.
   */
  isRecent(periodKey: number, tenantKey: number): boolean {
    const [nowMs, before] = [this.#nowMs, this.#before];
    const [fall] = this.#statements.sinceLast.all({ periodKey, tenantKey, before }) as EntryRow[];
    return fall !== undefined && (ageMs(Date.parse(fall.at), nowMs) ?? DAY_MS) < DAY_MS - HOUR_MS;
  }

  /**
   * Reports whether one reading since the last fall restored the credits, and no other fall followed for more than a
   * day.
   */
  isRestored(key: { periodKey: number; tenantKey: number; startMs: number }, fell: bigint): boolean {
    const [nowMs, before] = [this.#nowMs, this.#before];
    const { periodKey, tenantKey, startMs } = key;
    const [fall, ...later] = this.#statements.sinceLast.all({ periodKey, tenantKey, before }) as EntryRow[];
    if (fall === undefined || (ageMs(Date.parse(fall.at), nowMs) ?? 0) < RESTORED_AFTER_MS) return false;
    if (this.#statements.fallsNow.get({ periodKey, tenantKey, before }) !== undefined) return false;
    let lastMs = Date.parse(fall.at);
    const beforeFall = fall.after - fall.delta;
    const passedMs = BigInt(Math.max(1, lastMs - startMs));
    return later.some(({ delta, at }) => {
      const atMs = Date.parse(at);
      const usual = (beforeFall * BigInt(Math.max(0, atMs - lastMs))) / passedMs;
      lastMs = atMs;
      return restoresCredits(delta, { fell, usual });
    });
  }
}

const falls = perRun((context) => new Falls(context));

/** A fall below a hundredth of the counter is noise: a service may answer from several copies that differ slightly. */
const MIN_FALL_DIVISOR = 100n;

/** A counter that fell on this many of the last DAYS_OF_FALLS days falls regularly. */
const USUAL_DAYS = 3;
const DAYS_OF_FALLS = 14;

export interface RegressionInput {
  /** The credits that this run removed, and the counter before this run; null if the run did not reduce the counter. */
  fall: { missing: bigint; before: bigint } | null;
  /**
   * The known loss of an open alert, in credits; 0 without one. It is also 0 if this run reduced the counter again and
   * the known loss is about a day old or older.
   */
  lost: bigint;
  /** True if a reading since the last fall restored the known loss for good. */
  restored: boolean;
  /** Credits below which a fall is ignored. */
  floor: bigint;
  /** The largest recent fall of a counter that falls regularly; null for other counters. */
  usual: bigint | null;
}

/**
 * Judges a fall of an open period's counter. Usage only adds up, so a fall is a correction or a loss. The alert ends
 * when one run restores the credits, not by ordinary growth. A second fall within a day adds to the first. A counter
 * that falls every night is notified once, and again only for a fall of at least 1.5 times the largest recent fall.
 */
export function judgeRegression({ fall, lost, restored, usual, floor }: RegressionInput): Judgement {
  if (fall === null) return restored ? clear(true) : fallen(lost);
  const { missing, before } = fall;
  const isUsual = usual !== null && missing * 2n < usual * 3n;
  const isLittle = missing * MIN_FALL_DIVISOR < before || missing < floor || missing <= 0n;
  return isUsual || isLittle ? UNDECIDED : fallen(lost + missing);
}

/**
 * Reports whether a reading brought back nine tenths of the missing credits, on top of the usual usage in that time.
 */
export function restoresCredits(gained: bigint, { fell, usual }: { fell: bigint; usual: bigint }): boolean {
  return (gained - usual) * 10n >= fell * 9n && gained >= 2n * usual;
}

function fallen(magnitude: bigint): Judgement {
  return holds({ level: 'happened', severity: 'warning', threshold: null, magnitude });
}
