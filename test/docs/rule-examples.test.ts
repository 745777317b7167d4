import { day, days, type Example, months, testExamples } from './rule-examples.ts';

const EXAMPLES: Record<string, Example> = {
  jump: {
    says: 'acme used 10,000 in February; `T = max(15,000, 11,000) = 15,000`. The jump has happened at 15,000 in March. It is settled on 3 April, 48 hours after the end of March.',
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
    told: ['03-21T12 jump happened firing acme 15000 of 15000', '04-03T12 jump settled resolved acme 15000 of 15000'],
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
  'an intermittent tenant': {
    says: 'acme used 30,000 in January, 2,000 in February on four days, and is notified in March from 45,000.',
    play: (world) =>
      months(world, '03-25', {
        acme: {
          '2025-12-01': 1_000,
          '2026-01-10': 30_000,
          ...{ '2026-02-03': 500, '2026-02-10': 1_000, '2026-02-17': 1_500, '2026-02-24': 2_000 },
          ...{ '2026-03-20': 44_999, '2026-03-21': 45_000 },
        },
      }),
    told: ['03-03T12 drop settled firing acme 2000 of 20000', '03-21T12 jump happened firing acme 45000 of 45000'],
  },
  'drop, settled': {
    says: 'globex used 10,000 in February and 6,000 in March: settled, because 10,000 would be a jump against 6,000.',
    play: (world) =>
      months(world, '04-05', {
        globex: { '2025-12-01': 10_000, '2026-01-01': 10_000, '2026-02-01': 10_000, '2026-03-01': 6_000 },
      }),
    told: ['04-03T12 drop settled firing globex 6000 of 6666'],
  },
  new_spend: {
    says: 'initech has no record of the last twelve months, and February was read to its end. The alert is sent at its first 1,000 credits of March',
    play: (world) =>
      months(world, '03-25', {
        old: { '2025-12-01': 10_000, '2026-01-01': 10_000, '2026-02-01': 10_000, '2026-03-01': 10_000 },
        initech: { '2026-03-10': 999, '2026-03-11': 1_000 },
      }),
    told: ['03-11T12 new_spend happened firing initech 1000 of 1000'],
  },
  budget: {
    says: 'acme may use 500,000 a month: notified once each at 250,000, 400,000 and 500,000, and beyond at 150%, 200%, 300%, 500% and so on.',
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
  regression: {
    says: "On 15 March acme's counter goes from 9,000 to 7,000. The alert is resolved when both conditions hold: one run has brought the 2,000 back, which is also at least twice the usage in such a time; and a day has passed without another fall.",
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
    says: 'Had February only settled, 198,900 would not be reported either: the change is less than a hundredth.',
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

testExamples(EXAMPLES);
