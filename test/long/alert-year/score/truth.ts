import { addPeriods, type Period, periodEndMs } from '../../../../src/core/period.ts';
import { DAY_MS, type Month, monthOf } from '../calendar.ts';
import { INTERMITTENT_FAMILIES } from '../field/field-population.ts';
import type { Tenant } from '../population.ts';
import type { ServiceRecord } from '../service.ts';
import type { World } from '../world.ts';

export const TENANT_KINDS = ['steady', 'intermittent', 'returning', 'newcomer'] as const;

/** What a tenant is when a message about it is made; `workspace` for a message about all of them. */
export type TenantKind = (typeof TENANT_KINDS)[number] | 'workspace';

/** A month of a tenant that rose, by the service's final figures. */
export interface Rise {
  tenant: string;
  period: Period;
  rule: 'jump' | 'new_spend';
  kind: TenantKind;
  before: number;
  final: number;
  /** Credits from which on the month is a jump; for new spend the least amount that is reported. */
  limit: number;
  /** When the first run read the limit; null: no run did before the month had ended. */
  reachedMs: number | null;
  /** The increase over the month that the tenant is compared with is a half percent of the workspace's previous month, or more. */
  isMaterial: boolean;
  /** By its habits the tenant is compared with the highest of its last three months with usage within a year. */
  isByHabit: boolean;
  /** A jump from that month, too. */
  isBeyondHabit: boolean;
  /** The whole workspace rose as much, so that one message about it covers the tenant. */
  isCommon: boolean;
}

export interface RunReading {
  atMs: number;
  records: readonly ServiceRecord[];
}

/** Documented in docs/alert-rules.md: `T = max(ratio x B, B + min_credits)`, 1.5 and 1,000 by default. */
const RATIO = 1.5;
const MIN_CREDITS = 1_000;
/** Documented default of `critical_share`. */
const CRITICAL_SHARE = 0.005;
/** Documented: from this factor of more than half of the tenants on, growth is called common. */
const COMMON_GROWTH = 1.3;
/** Documented: an intermittent tenant was active on fewer days of the previous month, or had as many pauses as long. */
const MIN_ACTIVE_DAYS = 10;
const MIN_HABITUAL_PAUSES = 2;
const HABITUAL_PAUSE_DAYS = 14;
/** Documented: it is compared with the highest of three months with usage within a year. */
const HABIT_MONTHS = 3;
const MAX_MONTHS_BACK = 12;
const PAUSE_DAYS = 28;

/** The final figures of a world, and what follows from the documentation for each month; shares no code with the program. */
export class Truth {
  /** Months that are judged, in order: tenants have a past, and runs read them to their end. */
  readonly months: readonly Month[];
  readonly rises: readonly Rise[];
  readonly #world: World;
  readonly #tenants: ReadonlyMap<string, Tenant>;
  readonly #finals: ReadonlyMap<string, ReadonlyMap<Period, number>>;
  readonly #totals = new Map<Period, number>();

  constructor(world: World, readings: readonly RunReading[]) {
    this.#world = world;
    const lastMs = world.runsMs.at(-1) ?? 0;
    const { months } = world.calendar;
    this.months = months.filter(({ period }) => period >= world.judgedFrom && periodEndMs(period) <= lastMs);
    this.#tenants = new Map(world.tenants.map((each) => [each.id, each]));
    this.#finals = finalCredits(world);
    for (const own of this.#finals.values()) {
      for (const [period, credits] of own) this.#totals.set(period, (this.#totals.get(period) ?? 0) + credits);
    }
    this.rises = withReachedTimes(
      this.months.flatMap(({ period }) => this.#risesOf(period)),
      readings,
    );
  }

  isJudged(period: string): boolean {
    return this.months.some((month) => month.period === period);
  }

  /** Credits of a month after its end; of the workspace where no tenant is given. */
  final(tenant: string | null, period: Period): number {
    return (tenant === null ? this.#totals.get(period) : this.#finals.get(tenant)?.get(period)) ?? 0;
  }

  /** Increase over the month that a subject is compared with, as a share of the workspace's previous month. */
  shareOfIncrease(tenant: string | null, period: Period): number {
    const increase = this.final(tenant, period) - this.#compare(tenant, period).baseline;
    return increase / Math.max(1, this.final(null, addPeriods(period, -1)));
  }

  isMaterial(tenant: string | null, period: Period): boolean {
    return this.shareOfIncrease(tenant, period) >= CRITICAL_SHARE;
  }

  /** Whether the workspace's own month is a jump. */
  isWorkspaceJump(period: Period): boolean {
    return this.final(null, period) >= limitFrom(this.final(null, addPeriods(period, -1)));
  }

  /** The limit by the documentation; null where there is nothing to compare with. */
  limit(tenant: string | null, period: Period): number | null {
    const previous = this.#previousMonth(tenant, period);
    return previous === null ? null : limitFrom(previous);
  }

  /** Credits that a month is compared with: of the highest month of the tenant's habits, the previous month, or none. */
  #compare(tenant: string | null, period: Period): { baseline: number; isByHabit: boolean } {
    const previous = this.#previousMonth(tenant, period);
    const habit = tenant === null ? null : this.#highestOfHabit(tenant, period);
    const isByHabit =
      tenant !== null && habit !== null && (previous === null || this.#isIntermittentIn(tenant, period));
    return { baseline: (isByHabit ? habit : previous) ?? 0, isByHabit };
  }

  /** The previous month's credits as they are compared; null if it had no usage. */
  #previousMonth(tenant: string | null, period: Period): number | null {
    const previous = addPeriods(period, -1);
    const before = this.final(tenant, previous);
    if (before <= 0) return null;
    const own = tenant === null ? undefined : this.#tenants.get(tenant);
    const first = own === undefined ? -1 : own.daily.findIndex((credits) => credits > 0);
    const { firstDay, length } = monthOf(this.#world.calendar, previous);
    // A first month is compared as if it had been used at the same rate from its start.
    const active = first > firstDay ? length - (first - firstDay) : length;
    return (before * length) / Math.max(1, active);
  }

  /** What a tenant was at a moment, by what it really used. */
  kindOf(tenant: string | null, atMs: number): TenantKind {
    const own = tenant === null ? undefined : this.#tenants.get(tenant);
    if (own === undefined) return 'workspace';
    if (isIntermittent(own)) return 'intermittent';
    const today = Math.floor((atMs - this.#world.calendar.startMs) / DAY_MS);
    const first = own.daily.findIndex((credits) => credits > 0);
    if (first > today - PAUSE_DAYS) return 'newcomer';
    return this.#cameBack(own, today) ? 'returning' : 'steady';
  }

  isIntermittent(tenant: string | null): boolean {
    const own = tenant === null ? undefined : this.#tenants.get(tenant);
    return own !== undefined && isIntermittent(own);
  }

  /** Whether a pause of four weeks or more ended within the four weeks up to a day. */
  #cameBack({ daily }: Tenant, today: number): boolean {
    for (let day = Math.max(PAUSE_DAYS, today - PAUSE_DAYS + 1); day <= today; day += 1) {
      if ((daily[day] ?? 0) <= 0) continue;
      if (daily.subarray(day - PAUSE_DAYS, day).every((credits) => credits <= 0)) return true;
    }
    return false;
  }

  #risesOf(period: Period): Omit<Rise, 'reachedMs'>[] {
    const previous = addPeriods(period, -1);
    const common = this.#commonGrowth(period);
    return [...this.#tenants.keys()].flatMap((tenant): Omit<Rise, 'reachedMs'>[] => {
      const [before, final] = [this.final(tenant, previous), this.final(tenant, period)];
      const habit = this.#highestOfHabit(tenant, period);
      const isNew = before <= 0 && habit === null;
      const limit = this.limit(tenant, period) ?? (habit === null ? MIN_CREDITS : limitFrom(habit));
      if (final < limit) return [];
      return [
        {
          ...{ tenant, period, before, final, limit, rule: isNew ? 'new_spend' : 'jump' },
          kind: this.kindOf(tenant, periodEndMs(period) - 1),
          isMaterial: this.isMaterial(tenant, period),
          isByHabit: this.#compare(tenant, period).isByHabit,
          isBeyondHabit: habit === null || final >= limitFrom(habit),
          isCommon: before > 0 && common !== null && final < limitFrom(before * common),
        },
      ];
    });
  }

  /** Growth of the middle tenant in a month in which the workspace itself jumped; null in any other. */
  #commonGrowth(period: Period): number | null {
    if (!this.isWorkspaceJump(period)) return null;
    const previous = addPeriods(period, -1);
    const growths = [...this.#tenants.keys()].flatMap((tenant) => {
      const before = this.final(tenant, previous);
      return before > 0 ? [this.final(tenant, period) / before] : [];
    });
    const middle = growths.sort((a, b) => a - b)[Math.floor(growths.length / 2)] ?? 1;
    return middle >= COMMON_GROWTH ? middle : null;
  }

  /** The highest of the last three months with usage within a year; null without any. */
  #highestOfHabit(tenant: string, period: Period): number | null {
    const earliest = addPeriods(period, -MAX_MONTHS_BACK);
    const used = [...(this.#finals.get(tenant) ?? [])].filter(
      ([each, credits]) => each >= earliest && each < period && credits > 0,
    );
    const last = used.slice(-HABIT_MONTHS).map(([, credits]) => credits);
    return last.length === 0 ? null : Math.max(...last);
  }

  /** Whether the documentation calls a tenant intermittent in a month, by its days before that month. */
  #isIntermittentIn(tenant: string, period: Period): boolean {
    const { calendar } = this.#world;
    const daily = this.#tenants.get(tenant)?.daily ?? new Float64Array();
    const previous = monthOf(calendar, addPeriods(period, -1));
    const end = previous.firstDay + previous.length;
    const active = daily.subarray(previous.firstDay, end).filter((credits) => credits > 0).length;
    if (active < MIN_ACTIVE_DAYS) return true;
    const activeDays = [...daily.subarray(0, end).entries()].flatMap(([day, credits]) => (credits > 0 ? [day] : []));
    const pauses = activeDays.filter((day, place) => day - (activeDays[place - 1] ?? day) > HABITUAL_PAUSE_DAYS);
    return pauses.length >= MIN_HABITUAL_PAUSES;
  }
}

function limitFrom(before: number): number {
  return Math.max(RATIO * before, before + MIN_CREDITS);
}

function isIntermittent({ family }: Tenant): boolean {
  return INTERMITTENT_FAMILIES.has(family);
}

/** Final credits by tenant and month, months in order. */
function finalCredits({ service, calendar }: World): Map<string, Map<Period, number>> {
  const finals = new Map<string, Map<Period, number>>();
  for (const { period } of calendar.months) {
    for (const { tenantId, credits } of service.list(period, Number.POSITIVE_INFINITY)) {
      const own = finals.get(tenantId) ?? new Map<Period, number>();
      finals.set(tenantId, own.set(period, credits));
    }
  }
  return finals;
}

function withReachedTimes(rises: readonly Omit<Rise, 'reachedMs'>[], readings: readonly RunReading[]): Rise[] {
  const open = new Map(rises.map((rise) => [`${rise.tenant} ${rise.period}`, rise]));
  const reached = new Map<string, number>();
  for (const { atMs, records } of readings) {
    for (const { tenantId, period, credits } of records) {
      const key = `${tenantId} ${period}`;
      if (credits < (open.get(key)?.limit ?? Number.POSITIVE_INFINITY)) continue;
      open.delete(key);
      if (atMs < periodEndMs(period)) reached.set(key, atMs);
    }
  }
  return rises.map((rise) => ({ ...rise, reachedMs: reached.get(`${rise.tenant} ${rise.period}`) ?? null }));
}
