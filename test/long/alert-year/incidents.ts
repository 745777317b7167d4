import { addPeriods, type Period, periodStartMs } from '../../../src/core/period.ts';
import { type Calendar, DAY_MS, monthOf, weekdayOf } from './calendar.ts';
import { createFamilies, dailyCredits } from './families.ts';
import { type Tenant, tenant, usualSize } from './population.ts';
import type { Random } from './random.ts';

/** What somebody did to a tenant, and what documentation promises to tell of it. */
export interface Planted {
  kind: string;
  tenant: string;
  /** The month that the promised alert is about. */
  period: Period;
  /** When it began. */
  onsetMs: number;
  /** Any of these rules tells of it. */
  rules: readonly string[];
  /** When documentation promises that it has been told, at the latest. */
  promisedMs: number;
  /** From this day of the month on it is three times as much; null for other kinds. */
  riseDay: number | null;
}

/** Every tenant uses this much more from a day of the month to its end. */
export interface Bulge {
  period: Period;
  day: number;
  factor: number;
}

export interface Incidents {
  tenants: Tenant[];
  planted: Planted[];
  bulges: Bulge[];
  /** Members of a bulge that use a hundred times as much two days after it began. */
  runaways: string[];
  plans: { tenant: string; upTo: number; period: Period }[];
  silences: { tenant: string; period: Period }[];
  /** The month after which finance closes no more months. */
  closedTo: Period;
}

/** Until the figures of a month stand, and a run has read them. */
const SETTLED_DAYS = 4;

/** Plants every kind of incident into the months from the fourth on, and two bulges of everybody. */
export function plantIncidents(calendar: Calendar, everybody: readonly Tenant[], random: Random): Incidents {
  const [even, weekdays, , , , alwaysOn] = createFamilies(calendar);
  const months = calendar.months.slice(4, -2).map(({ period }) => period);
  const middle = Math.floor(months.length / 2);
  // Bulges of everybody lie apart, and what is planted elsewhere keeps out of their shadow.
  const bulges: Bulge[] =
    months.length < 6
      ? []
      : [
          { period: months[1] as Period, day: 1, factor: 2 },
          { period: months[middle + 2] as Period, day: 12, factor: 2.6 },
        ];
  const shadow = new Set(bulges.flatMap(({ period }) => [period, addPeriods(period, 1), addPeriods(period, 2)]));
  const calm = months.filter((period) => !shadow.has(period));
  const plan: Incidents = {
    ...{ tenants: [], planted: [], bulges, runaways: [], plans: [], silences: [] },
    closedTo: months[middle] as Period,
  };
  let count = 0;
  const pick = (list: readonly Period[]): Period => list[random.integer(0, list.length - 1)] as Period;
  const grow = (kind: string, family = [even, weekdays, alwaysOn][count % 3], usual = 15_000 + usualSize(random)) => {
    if (family === undefined) throw new Error('there is no such family');
    const grown = tenant(`${kind}-${count}`, 'planted', dailyCredits(family, usual, calendar, random));
    count += 1;
    plan.tenants.push(grown);
    return { grown, usual };
  };
  const day = (period: Period, place: number) => monthOf(calendar, period).firstDay + place - 1;
  const ms = (period: Period, place: number) => periodStartMs(period) + (place - 1) * DAY_MS;
  const settled = (period: Period) => ms(addPeriods(period, 1), 1 + SETTLED_DAYS);
  const expect = (kind: string, { id }: Tenant, period: Period, onset: number, more: Partial<Planted>) => {
    const promise = { rules: ['jump'], promisedMs: settled(period), riseDay: null };
    plan.planted.push({ kind, tenant: id, period, onsetMs: ms(period, onset), ...promise, ...more });
  };
  const from = (grown: Tenant, first: number, factor: number, last = calendar.days) => {
    for (let at = first; at < last; at += 1) grown.daily[at] = (grown.daily[at] ?? 0) * factor;
  };

  for (const place of [1, 4, 8, 10, 12, 14, 16, 17, 18, 20, 22]) {
    const { grown } = grow(`rise-${place}`);
    // Nobody sees a rise before it is used: who rests at week-ends rises on a Monday.
    const onWorkday = calm.filter((each) => ![0, 6].includes(weekdayOf(calendar, day(each, place))));
    const period = pick(onWorkday.length > 0 ? onWorkday : calm);
    from(grown, day(period, place), 3);
    expect('rise', grown, period, place, { riseDay: place });
  }
  for (let n = 0; n < 2; n += 1) {
    // A quarter more in each of three months is no jump, and nothing is promised.
    const { grown } = grow('creeping', alwaysOn);
    const period = calm.find((each) => calm.includes(addPeriods(each, 1)) && calm.includes(addPeriods(each, 2)));
    if (period === undefined) continue;
    for (const step of [0, 1, 2]) from(grown, day(addPeriods(period, step), 1), 1.27);
  }
  for (const percent of [35, 80, 120]) {
    const { grown, usual } = grow(`spike-${percent}`, even);
    const period = pick(calm);
    const place = random.integer(4, 24);
    const at = day(period, place);
    grown.daily[at] = (grown.daily[at] ?? 0) + (usual * percent) / 100;
    // A third more of a month's usage within a day is not a jump by itself, and nothing is promised.
    if (percent > 60) expect('spike', grown, period, place, {});
  }
  {
    const { grown, usual } = grow('last-day', even);
    const period = pick(calm);
    const { length } = monthOf(calendar, period);
    const at = day(period, length);
    grown.daily[at] = (grown.daily[at] ?? 0) + usual;
    expect('last day', grown, period, length, {});
  }
  {
    const { grown } = grow('large', alwaysOn, 640_000);
    const period = pick(calm);
    from(grown, day(period, 1), 1.6);
    expect('large', grown, period, 1, {});
  }
  {
    const { grown } = grow('intensity', even);
    const period = pick(calm);
    const first = day(period, 6);
    from(grown, first, 2.5);
    grown.intensity = { fromDay: first, factor: 2.5 };
    expect('intensity', grown, period, 6, {});
  }
  {
    const { grown } = grow('new-large', even, 400_000);
    const period = pick(calm);
    from(grown, 0, 0, day(period, 9));
    expect('new and large', grown, period, 9, { rules: ['new_spend'], promisedMs: ms(period, 11) });
  }
  for (let n = 0; n < 2; n += 1) {
    const { grown } = grow('small-first', even, 5_000_000);
    const period = pick(calm);
    from(grown, 0, 0, day(period, 1));
    grown.daily[day(period, 1) - 3] = 50;
    expect('small first month', grown, period, 1, { promisedMs: ms(period, 3) });
  }
  for (const way of ['absent', 'zero', 'mid-month'] as const) {
    const { grown } = grow(`gone-${way}`, even);
    const period = pick(calm);
    const place = way === 'mid-month' ? 12 : 1;
    from(grown, day(period, place), 0);
    if (way === 'zero') grown.zeroFrom = period;
    // Who uses daily and stops is told within days.
    expect(`gone, ${way}`, grown, period, place, { rules: ['drop'], promisedMs: ms(period, place + 5) });
  }
  const open = calm.filter((period) => addPeriods(period, -1) > plan.closedTo);
  const closed = calm.filter((period) => period > (months[0] as Period) && addPeriods(period, -1) <= plan.closedTo);
  for (const [which, list, share] of [
    ['unclosed', open, 0.4],
    ['unclosed', open, -0.3],
    ['closed', closed, -0.05],
  ] as const) {
    if (list.length === 0) continue;
    const { grown, usual } = grow(`restated-${which}`, even);
    const period = pick(list);
    const about = addPeriods(period, -1);
    grown.corrections.push({
      period: about,
      fromMs: ms(period, 15),
      untilMs: null,
      credits: Math.round(usual * share),
    });
    const promise = { rules: ['restatement'], promisedMs: ms(period, 18), onsetMs: ms(period, 15) };
    expect(`restated, ${which}`, grown, about, 15, promise);
  }
  for (const way of ['stays', 'returns'] as const) {
    const { grown, usual } = grow(`falls-${way}`, even);
    const period = pick(calm);
    const untilMs = way === 'stays' ? null : ms(period, 17);
    grown.corrections.push({ period, fromMs: ms(period, 15), untilMs, credits: -Math.round(usual * 0.15) });
    expect(`falls, ${way}`, grown, period, 15, { rules: ['regression'], promisedMs: ms(period, 17) });
  }
  if (closed.length > 0) {
    const { grown } = grow('withdrawn', even);
    const period = pick(closed);
    const about = addPeriods(period, -1);
    grown.withdrawn.push({ period: about, fromMs: ms(period, 16) });
    const promise = { rules: ['withdrawn'], promisedMs: ms(period, 18), onsetMs: ms(period, 16) };
    expect('withdrawn', grown, about, 16, promise);
  }
  for (const way of ['kept', 'exceeded'] as const) {
    const { grown, usual } = grow(`plan-${way}`, even);
    const period = pick(calm);
    from(grown, day(period, 1), 3, day(addPeriods(period, 1), 1));
    const upTo = Math.round(usual * (way === 'kept' ? 5 : 2));
    plan.plans.push({ tenant: grown.id, upTo, period });
    if (way === 'exceeded') expect('plan exceeded', grown, period, 1, {});
  }
  {
    const { grown } = grow('silenced', even);
    const period = pick(calm);
    from(grown, day(period, 1), 3);
    plan.silences.push({ tenant: grown.id, period });
  }
  for (const { period, day: place, factor } of bulges) {
    const first = day(period, place);
    const last = day(addPeriods(period, 1), 1);
    const { grown } = grow('runaway', even);
    for (const each of [...everybody, ...plan.tenants]) from(each, first, factor, last);
    from(grown, first + 2, 100, last);
    plan.runaways.push(grown.id);
    const onset = { onsetMs: ms(period, place + 2), promisedMs: ms(period, place + 4) };
    expect('runaway', grown, period, place + 2, onset);
  }
  return plan;
}
