import { formatMinor } from '../../core/money.ts';
import { once, oncePerKey } from '../../core/one-at-a-time.ts';
import type { RuleName } from '../../core/text/alert-words.ts';
import { stringifyExact } from '../../core/text/exact-json.ts';
import { inertJson } from '../../core/text/inert-text.ts';
import type { CreditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { preparedSql } from '../../ledger/store/schema/drizzle.ts';
import { periodKeyOf, periodOfKey, workspaceKeyOf } from '../../ledger/store/schema/keys.ts';
import { tenantIdOf } from '../../ledger/store/subjects.ts';
import { sumUsage } from '../../ledger/store/sum-usage.ts';
import { splitCreditChange } from '../figures/change-split.ts';
import { percentOf } from '../figures/percent.ts';
import type { Observation, PredecessorTenant } from '../rules/observation.ts';
import { usageKind } from '../rules/rules.ts';
import { createDailyUsage } from './daily-usage.ts';
import type { Evidence, EvidenceEntry, MoneyAtStake, Predecessor, TenantsEvidence } from './facts/facts.ts';

/** At most this many entries are listed in a notification, the latest ones. `finance_history` has all entries. */
const MAX_NAMED_ENTRIES = 20;

export interface EvidenceAbout {
  tenantId: string | null;
  planned: readonly bigint[];
}

const IS_OF_MONTHS = 'period_key IN (@periodKey, @periodKey - 1) AND tenant_key = @tenantKey';
const readLatestEntries = preparedSql(
  `SELECT e.entry_id, r.run_id, e.period_key, e.credits_delta, e.credits_after, (
       SELECT count(*) FROM usage_entries WHERE ${IS_OF_MONTHS}) AS entry_count
     FROM usage_entries e JOIN runs r ON r.run_key = e.run_key
     WHERE ${IS_OF_MONTHS} ORDER BY e.entry_id DESC LIMIT ${MAX_NAMED_ENTRIES}`,
  'safeIntegers',
);

/**
 * Creates a function that gathers evidence. Daily usage, entries and shares are loaded when they are first read. The
 * totals of a workspace are loaded once for all alerts.
 */
export function createEvidence(
  connection: LedgerDb,
  priceOf: CreditPricer | null,
): (seen: Observation, about: EvidenceAbout) => Evidence {
  const total = oncePerKey((periodKey: number) => sumUsage(connection, periodKey).creditsUsed);
  const dailyUsageOf = createDailyUsage(connection);
  const entriesOf = readLatestEntries(connection);
  const moneyOf = (seen: Observation, tenantId: string | null, sides: StakeSides): MoneyAtStake | null => {
    const { periodKey } = seen;
    if (priceOf === null || periodKey === null) return null;
    const period = periodOfKey(periodKey);
    if (tenantId !== null) return moneyAtStake(sides, (credits) => priceOf(tenantId, period, credits));
    const all = workspaceMonth(seen, sides);
    return all && moneyOfAll(connection, all, (tenant, credits) => priceOf(tenant, period, credits));
  };

  return (seen, { tenantId, planned }) => {
    const { periodKey, tenantKey, previous, current, built, phase } = seen;
    const split = previous === null || current === null ? null : splitCreditChange(previous, current);
    const ofTenant = periodKey !== null && tenantKey !== null;
    const dailyUsage = once(() => (ofTenant && phase !== null ? dailyUsageOf({ periodKey, tenantKey, phase }) : null));
    const rows = once(() => (ofTenant ? (entriesOf.all({ periodKey, tenantKey }) as EvidenceRow[]) : []));
    const growth = previous === null || current === null ? 0n : current.credits - previous.credits;
    const open = phase !== null && !phase.over && current !== null && phase.elapsedMs > 0;
    const expected = current === null ? null : expectedOf(seen);
    const figures = { previous: previous?.credits ?? 0n, projected: expected, threshold: seen.threshold };
    const sides = current === null ? null : stakeSides(seen.rule, { ...figures, current: current.credits });
    const all = workspaceMonth(seen, sides);
    return {
      threshold:
        built === null || seen.threshold === null
          ? null
          : {
              credits: seen.threshold,
              baseline_credits: built.baseline,
              baseline_period: built.period,
              ratio: built.ratio,
              min_credits: built.minCredits,
            },
      projection:
        open && expected !== null
          ? {
              credits: expected,
              low_credits: seen.forecast?.low ?? null,
              high_credits: seen.forecast?.high ?? null,
              elapsed_fraction: Math.round((phase.elapsedMs / phase.lengthMs) * 10_000) / 10_000,
            }
          : null,
      get share_of_increase_percent() {
        if (!ofTenant || growth <= 0n || usageKind(seen.rule)?.stake?.hasShare !== true) return null;
        if (!isComparedWithPreviousMonth(seen)) return null;
        return percentOf(growth, total(periodKey) - total(periodKey - 1));
      },
      get share_of_workspace_percent() {
        return ofTenant && current !== null && current.credits > 0n
          ? percentOf(current.credits, total(periodKey))
          : null;
      },
      at_stake_credits: sides === null ? null : creditsAtStake(sides),
      at_stake_money: sides === null ? null : moneyOf(seen, tenantId, sides),
      get daily_usage() {
        return dailyUsage();
      },
      split: split === null ? null : { volume_credits: split.volume, intensity_credits: split.intensity },
      get entries() {
        return rows().map(toEntry).reverse();
      },
      get entry_count() {
        return Number(rows()[0]?.entry_count ?? 0);
      },
      planned_bounds: [...planned],
      tenants: all === null ? null : { largest: largestOf(connection, all), common_growth: seen.commonGrowth },
      predecessor: seen.predecessor === null ? null : toPredecessor(connection, seen.predecessor),
      detail: seen.detail,
    };
  };
}

/**
 * A month of a workspace, and the month that it is compared with. Multiplied by `times`, the credits to date become the
 * workspace's forecast.
 */
interface WorkspaceMonth {
  periodKey: number;
  comparedKey: number;
  times: number;
}

/** Returns the month of an alert about the growth of a whole workspace; null for other alerts. */
function workspaceMonth(
  { rule, periodKey, current, built }: Observation,
  sides: StakeSides | null,
): WorkspaceMonth | null {
  if (usageKind(rule)?.stake?.byTenant !== true || periodKey === null || current === null || sides === null)
    return null;
  const comparedKey = built === null ? periodKey - 1 : periodKeyOf(workspaceKeyOf(periodKey), built.period);
  const times = current.credits <= 0n ? 1 : Number(sides.likely) / Number(current.credits);
  return { periodKey, comparedKey, times };
}

const TENANTS_OF_BOTH_MONTHS = `SELECT t.tenant_id, sum(iif(u.period_key = @periodKey, 0, u.credits_used)) AS previous_credits,
    sum(iif(u.period_key = @periodKey, u.credits_used, 0)) AS current_credits
  FROM tenant_usage u JOIN tenants t USING (tenant_key) WHERE u.period_key IN (@periodKey, @comparedKey) GROUP BY t.tenant_key`;

function largestOf(connection: LedgerDb, month: WorkspaceMonth): TenantsEvidence['largest'] {
  return connection
    .prepare(
      `${TENANTS_OF_BOTH_MONTHS} HAVING current_credits * @times > previous_credits
       ORDER BY current_credits * @times - previous_credits DESC, t.tenant_id LIMIT 5`,
    )
    .safeIntegers()
    .all(month) as TenantsEvidence['largest'];
}

/** Prices the credits at stake of all tenants; null unless all tenants have a price in the same currency. */
function moneyOfAll(
  connection: LedgerDb,
  month: WorkspaceMonth,
  price: (tenantId: string, credits: bigint) => ReturnType<CreditPricer>,
): MoneyAtStake | null {
  const rows = connection.prepare(TENANTS_OF_BOTH_MONTHS).safeIntegers().iterate(month);
  let change = 0n;
  let currency: string | null = null;
  for (const { tenant_id, previous_credits, current_credits } of rows as Iterable<TenantsEvidence['largest'][0]>) {
    const comes = BigInt(Math.round(Number(current_credits) * month.times));
    const [more, less] = [price(tenant_id, comes), price(tenant_id, previous_credits)];
    if (more === null || less === null || (currency ?? more.currency) !== more.currency) return null;
    currency = more.currency;
    change += more.amountMinor - less.amountMinor;
  }
  return currency === null ? null : stakeMoney(change, { currency, isGrowth: true });
}

function toPredecessor(connection: LedgerDb, { tenantKey, daily, newDaily, lastDay }: PredecessorTenant): Predecessor {
  const tenant_id = tenantIdOf(connection, tenantKey);
  return { tenant_id, daily_credits: daily, new_daily_credits: newDaily, last_day: lastDay };
}

function isComparedWithPreviousMonth({ built, periodKey }: Observation): boolean {
  return periodKey !== null && (built === null || built.period === periodOfKey(periodKey - 1));
}

export function expectedOf({ phase, forecast }: Pick<Observation, 'phase' | 'forecast'>): bigint | null {
  return phase === null || phase.over ? null : (forecast?.likely ?? null);
}

export interface StakeSides {
  likely: bigint;
  compared: bigint;
}

/**
 * Returns the two numbers of credits whose difference is at stake. `projected` is the forecast of an open period. Null
 * if the rule has no stake, and for a fall if the current credits are not below the previous ones.
 */
export function stakeSides(
  rule: RuleName,
  {
    previous,
    current,
    projected,
    threshold,
  }: { previous: bigint; current: bigint; projected: bigint | null; threshold: bigint | null },
): StakeSides | null {
  const stake = usageKind(rule)?.stake;
  if (stake === undefined || (stake.of === 'fall' && current >= previous)) return null;
  if (stake.of === 'over_limit' && threshold !== null) {
    const most = projected !== null && projected > current ? projected : current;
    return { likely: most > threshold ? most : threshold, compared: threshold };
  }
  const likely = stake.of === 'growth' && projected !== null && projected > current ? projected : current;
  return { likely, compared: previous };
}

export function creditsAtStake({ likely, compared }: StakeSides): bigint {
  return likely > compared ? likely - compared : compared - likely;
}

/** Prices the expected and the compared credits of an alert, both with the rate cards of its period. */
export function moneyAtStake(
  { likely, compared }: StakeSides,
  price: (credits: bigint) => ReturnType<CreditPricer>,
): MoneyAtStake | null {
  const [more, less] = [price(likely), price(compared)];
  if (more === null || less === null) return null;
  return stakeMoney(more.amountMinor - less.amountMinor, { currency: more.currency, isGrowth: likely > compared });
}

/**
 * Formats a change of the price. Null if the price falls although the credits rise, or the reverse, such as where a
 * volume discount begins: no sentence fits both.
 */
function stakeMoney(
  change: bigint,
  { currency, isGrowth }: { currency: string; isGrowth: boolean },
): MoneyAtStake | null {
  if (isGrowth ? change < 0n : change > 0n) return null;
  const amountMinor = change < 0n ? -change : change;
  return { amount: formatMinor(amountMinor, currency), amount_minor: amountMinor, currency };
}

/** Renders evidence as the JSON text that is stored with a transition of an alert. Integers are exact. */
export function renderEvidence(evidence: Evidence): string {
  return inertJson(stringifyExact(evidence));
}

interface EvidenceRow {
  entry_id: bigint;
  run_id: string;
  period_key: bigint;
  credits_delta: bigint;
  credits_after: bigint;
  /** Number of all entries, including those that are not listed. */
  entry_count: bigint;
}

function toEntry({ entry_id, run_id, period_key, credits_delta, credits_after }: EvidenceRow): EvidenceEntry {
  const period = periodOfKey(Number(period_key));
  return { entry_id: Number(entry_id), run_id, period, credits_delta, credits_after };
}
