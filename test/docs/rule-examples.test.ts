import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { AlertSettings } from '../../src/config/types.ts';
import { setCards } from '../../src/ledger/journal/charges/charge-run.ts';
import { DAY_MS, type DayWorld, dayWorld, HOUR_MS } from '../alerts/evaluate/day-world.ts';

const DOCUMENT = readFileSync(new URL('../../docs/alert-rules.md', import.meta.url), 'utf8').replaceAll(/\s+/g, ' ');

const MARGIN_CARDS = {
  cards: [
    {
      ...{ name: 'tiers', from_period: '2026-01', currency: 'EUR' },
      graduated: [{ up_to: 10_000, price_per_credit: '0.01' }, { price_per_credit: '0.002' }],
    },
  ],
  costs: [{ name: 'provider', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.006' }],
};

interface Example {
  /** What stands in the document. */
  says: string;
  alerts?: Partial<AlertSettings>;
  play: (world: DayWorld) => Promise<void>;
  /** When something was told, and what. */
  told: string[];
}

const day = (words: string) => Date.parse(`2026-${words}${words.includes('T') ? ':00Z' : 'T12:00Z'}`);

/** Reads every day at noon; what a tenant has used of a month stands from its day on. */
async function months(world: DayWorld, until: string, figures: Record<string, Record<string, number>>): Promise<void> {
  for (let atMs = Date.parse('2026-01-20T12:00Z'); atMs <= day(until); atMs += DAY_MS) {
    for (const [tenant, days] of Object.entries(figures)) {
      for (const [from, credits] of Object.entries(days)) {
        if (atMs >= Date.parse(`${from}T00:00Z`)) world.state(tenant, from.slice(0, 7), BigInt(credits));
      }
    }
    await world.read(atMs);
  }
}

/** Reads twice a day what each tenant uses on a day. */
async function days(
  world: DayWorld,
  until: string,
  uses: Record<string, (atMs: number) => number>,
  hours = [10, 22],
): Promise<void> {
  for (let dayMs = Date.parse('2026-01-20'); dayMs < day(until); dayMs += DAY_MS) {
    for (const [tenant, of] of Object.entries(uses)) world.post(tenant, dayMs, of(dayMs));
    for (const hour of hours) await world.read(dayMs + hour * HOUR_MS);
  }
}

const told = (world: DayWorld): string[] =>
  world.notifications().map(({ payload: { created_at, rule, level, type, tenant_id, credits, threshold } }) => {
    const what = `${created_at.slice(5, 13)} ${rule} ${level} ${type.slice('alert.'.length)} ${tenant_id ?? '*'}`;
    return `${what} ${credits?.current ?? '-'} of ${threshold ?? '-'}`;
  });

const EXAMPLES: Record<string, Example> = {
  jump: {
    says: 'acme used 10,000 in February; `T = max(15,000, 11,000) = 15,000`. At 15,000 in March it has happened. On 3 April, when March has settled for 48 hours, it is settled.',
    play: (world) =>
      months(world, '04-05', {
        acme: {
          '2025-12-01': 10_000,
          '2026-01-01': 10_000,
          '2026-02-01': 10_000,
          '2026-03-20': 14_999,
          '2026-03-21': 15_000,
        },
      }),
    told: ['03-21T12 jump happened firing acme 15000 of 15000', '04-03T12 jump settled escalated acme 15000 of 15000'],
  },
  'first month of a tenant': {
    says: '50 credits on the last day of March count as 1,550, so April jumps at 2,550.',
    play: (world) =>
      months(world, '04-25', {
        old: {
          '2025-12-01': 10_000,
          '2026-01-01': 10_000,
          '2026-02-01': 10_000,
          '2026-03-01': 10_000,
          '2026-04-01': 10_000,
        },
        acme: { '2026-03-31': 50, '2026-04-20': 2_549, '2026-04-21': 2_550 },
      }),
    told: ['04-21T12 jump happened firing acme 2550 of 2550'],
  },
  'drop, settled': {
    says: 'globex used 10,000 in February and 6,000 in March: settled, because 10,000 would be a jump against 6,000.',
    play: (world) =>
      months(world, '04-05', {
        globex: { '2025-12-01': 10_000, '2026-01-01': 10_000, '2026-02-01': 10_000, '2026-03-01': 6_000 },
      }),
    told: ['04-03T12 drop settled firing globex 6000 of 6666'],
  },
  'drop, likely': {
    says: 'initech used something every day until 11 March: told on the 14th, within six hours.',
    play: (world) =>
      days(world, '03-20', { initech: (atMs) => (atMs <= Date.parse('2026-03-11') ? 300 : 0) }, [2, 8, 14, 20]),
    told: ['03-14T02 drop likely firing initech 3300 of -'],
  },
  'drop of who pauses': {
    says: 'One day: four days. Two days, as of one that works on weekdays: five and a half. Three days: seven.',
    play: (world) => {
      const until = (uses: (weekday: number) => boolean) => (atMs: number) =>
        atMs <= Date.parse('2026-03-11') && uses(new Date(atMs).getUTCDay()) ? 300 : 0;
      const tenants = {
        'pauses for 1': until((weekday) => weekday !== 0),
        'pauses for 2': until((weekday) => weekday !== 0 && weekday !== 6),
        'pauses for 3': until((weekday) => weekday > 0 && weekday < 5),
      };
      return days(world, '03-25', tenants, [2, 8, 14, 20]);
    },
    told: [
      '03-15T02 drop likely firing pauses for 1 2700 of -',
      '03-16T14 drop likely firing pauses for 2 2400 of -',
      '03-18T02 drop likely firing pauses for 3 2100 of -',
    ],
  },
  new_spend: {
    says: 'initech has no record of February, which was read to its end. It is told at its first 1,000 credits of March',
    play: (world) =>
      months(world, '03-25', {
        old: { '2025-12-01': 10_000, '2026-01-01': 10_000, '2026-02-01': 10_000, '2026-03-01': 10_000 },
        initech: { '2026-03-10': 999, '2026-03-11': 1_000 },
      }),
    told: ['03-11T12 new_spend happened firing initech 1000 of 1000'],
  },
  budget: {
    says: 'acme may use 500,000 a month: told once each at 250,000, 400,000 and 500,000, and beyond at 150%, 200%, 300%, 500% and so on.',
    alerts: { budgets: [{ tenant: 'acme', credits: 500_000n, at: [50, 80, 100] }], ratio: 100 },
    play: (world) =>
      months(world, '03-22', {
        acme: {
          ...{
            '2025-12-01': 240_000,
            '2026-01-01': 240_000,
            '2026-02-01': 240_000,
            '2026-03-02': 249_999,
            '2026-03-03': 250_000,
          },
          ...{
            '2026-03-05': 400_000,
            '2026-03-07': 500_000,
            '2026-03-09': 749_999,
            '2026-03-10': 750_000,
            '2026-03-12': 1_000_000,
          },
          ...{ '2026-03-14': 1_250_000, '2026-03-16': 1_500_000, '2026-03-18': 2_000_000, '2026-03-20': 2_500_000 },
        },
      }),
    told: [
      '03-03T12 budget likely firing acme 250000 of 500000',
      '03-05T12 budget likely escalated acme 400000 of 500000',
      '03-07T12 budget happened escalated acme 500000 of 500000',
      '03-10T12 budget happened escalated acme 750000 of 500000',
      '03-12T12 budget happened escalated acme 1000000 of 500000',
      '03-16T12 budget happened escalated acme 1500000 of 500000',
      '03-20T12 budget happened escalated acme 2500000 of 500000',
    ],
  },
  margin: {
    says: 'acme pays 0.01 EUR a credit up to 10,000 credits and 0.002 beyond, and costs 0.006. At 1,000 credits a day March comes to 31,000: it pays 142.00 and costs 186.00 EUR, which is told on 7 March as likely, and at 21,000 credits as happened.',
    alerts: { ratio: 100 },
    play: (world) => {
      setCards(world.connection, { ...MARGIN_CARDS, source: 'import', nowMs: day('01-10') });
      return days(world, '03-28', { acme: (atMs) => (atMs < day('03-01T00:00') ? 300 : 1_000) });
    },
    told: ['03-07T10 margin likely firing acme 7000 of -', '03-21T10 margin happened escalated acme 21000 of -'],
  },
  regression: {
    says: "On 15 March acme's counter goes from 9,000 to 7,000. Resolved when two things are so: one run has brought the 2,000 back, which is also at least twice what is used in such a time; and a day has passed without another fall.",
    play: (world) =>
      days(
        world,
        '03-20',
        { acme: (atMs) => 300 + (atMs === day('03-15T00:00') ? -2_300 : atMs === day('03-17T00:00') ? 2_000 : 0) },
        [12],
      ),
    told: [
      '03-15T12 regression happened firing acme 2200 of -',
      '03-18T12 regression happened resolved acme 5100 of -',
    ],
  },
  'restatement of what had settled': {
    says: 'Had February settled only, 198,900 would not be told either: that is less than a hundredth.',
    play: async (world) => {
      const figures = { '2025-12-01': 200_000, '2026-01-01': 200_000, '2026-02-01': 200_000, '2026-03-01': 200_000 };
      await months(world, '03-05', { acme: figures, globex: figures });
      world.state('acme', '2026-02', 198_900n);
      world.state('globex', '2026-02', 198_000n);
      await world.read(day('03-06'));
    },
    told: ['03-06T12 restatement happened firing globex 198000 of -'],
  },
  workspace_jump: {
    says: '16 tenants used 160,000 in February; at 240,000 in March the workspace itself has jumped.',
    play: (world) =>
      months(
        world,
        '03-25',
        Object.fromEntries(
          Array.from({ length: 16 }, (_, index) => [
            `t-${index}`,
            {
              '2025-12-01': 10_000,
              '2026-01-01': 10_000,
              '2026-02-01': 10_000,
              '2026-03-20': 14_999,
              '2026-03-21': index === 0 ? 15_015 : 14_999,
            },
          ]),
        ),
      ),
    told: ['03-21T12 workspace_jump happened firing * 240000 of 240000'],
  },
};

test.each(Object.entries(EXAMPLES))(
  'what the document says of %s is so',
  async (_, { says, alerts, play, told: expected }) => {
    const world = dayWorld(alerts);
    await play(world);
    expect(DOCUMENT).toContain(says);
    expect(told(world)).toEqual(expected);
  },
);
