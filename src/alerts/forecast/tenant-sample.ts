import { once } from '../../core/one-at-a-time.ts';
import { preparedSql } from '../../ledger/store/schema/drizzle.ts';
import { hasFewActiveDays, isIntermittent } from './intermittent.ts';
import { HABIT_DAYS, RATE_DAYS } from './past-days.ts';
import { computeSharedFactors } from './shared-factor.ts';
import type { UsageHistory } from './usage-history.ts';

/** A sample has at most this many tenants. That is enough for a median; reading more tenants would only take longer. */
const MAX_SAMPLE_TENANTS = 60;
/** If the history of an intermittent tenant is short, the histories of at most this many others are used too. */
const MAX_INTERMITTENT = 12;

const bounds = preparedSql('SELECT min(tenant_key), max(tenant_key) FROM tenant_usage WHERE period_key = ?', 'raw');
const nextTenant = preparedSql(
  'SELECT tenant_key FROM tenant_usage WHERE period_key = ? AND tenant_key > ? ORDER BY tenant_key LIMIT 1',
  'pluck',
);

/** A sample of the tenants with a record in the previous month, spread evenly over their keys. */
export class TenantSample {
  readonly #usageHistory: UsageHistory;
  readonly #periodKey: number;

  constructor(usageHistory: UsageHistory, periodKey: number) {
    this.#usageHistory = usageHistory;
    this.#periodKey = periodKey;
  }

  /** The factor that the tenants share on each day, latest first; see `computeSharedFactors`. */
  readonly factors = once((): readonly number[] =>
    computeSharedFactors(this.#members().map(({ daily }) => daily.latest(RATE_DAYS))),
  );

  /** Daily credits of the intermittent tenants of the sample, latest first. */
  readonly intermittent = once((): readonly { tenantKey: number; days: readonly number[] }[] =>
    this.#members()
      .filter(({ daily }) => hasFewActiveDays(daily.latest(RATE_DAYS)))
      .slice(0, MAX_INTERMITTENT)
      .map(({ tenantKey, daily }) => ({ tenantKey, days: daily.latest(HABIT_DAYS) }))
      .filter(({ days }) => isIntermittent(days)),
  );

  readonly #members = once(() =>
    this.#tenants().map((tenantKey) => ({ tenantKey, daily: this.#usageHistory.daily(this.#periodKey, tenantKey) })),
  );

  #tenants(): readonly number[] {
    const samples = this.#usageHistory.sources.kept?.samples;
    const tenants = samples?.get(this.#periodKey) ?? this.#findTenants();
    samples?.set(this.#periodKey, tenants);
    return tenants;
  }

  #findTenants(): number[] {
    const { connection } = this.#usageHistory.sources;
    const before = this.#periodKey - 1;
    const [first, last] = bounds(connection).get(before) as [number | null, number | null];
    if (first === null || last === null) return [];
    const stride = Math.floor((last - first) / MAX_SAMPLE_TENANTS);
    const tenants: number[] = [];
    let after = first - 1;
    while (tenants.length < MAX_SAMPLE_TENANTS) {
      const found = nextTenant(connection).get(before, after) as number | undefined;
      if (found === undefined) break;
      tenants.push(found);
      after = Math.max(found, found + stride - 1);
    }
    return tenants;
  }
}
