import { setCards } from '../../src/ledger/journal/charges/charge-run.ts';
import { commitClose } from '../../src/ledger/journal/charges/commit-close.ts';
import { importNames } from '../../src/ledger/journal/charges/names.ts';
import { closePeriod } from '../../src/ledger/journal/close/close-period.ts';
import { type OpenLedger, openLedger, publish, usageRecord } from '../support/open-ledger.ts';

// cspell:ignore nocard

/** The tenants of the demo, with what they used in the first months of 2025; harbor has fallen silent, fjord is new. */
const CREDITS: Readonly<Record<string, readonly (number | null)[]>> = {
  'blue-harbor': [41_000, 42_230, 43_460, 133_460],
  'cedar-analytics': [18_500, 19_055, 19_610, 12_000],
  'delta-foods': [7_250, 7_467, 7_685, 7_900],
  'ember-labs': [63_900, 65_817, 67_734, 69_651],
  'fjord-media': [null, null, 900, 2_400],
  'old-harbor': [5_000, 1_200, null, null],
  'tokyo-data': [null, null, null, 7_500],
};
const DEMO_CARDS = [
  {
    ...{ name: 'standard', from_period: '2025-01', currency: 'EUR', included_credits: 1000, discount_percent: '10' },
    graduated: [{ up_to: 20_000, price_per_credit: '0.0125' }, { price_per_credit: '0.01' }],
    minimum: '50.00',
  },
  { name: 'ember', from_period: '2025-01', tenant: 'ember-labs', currency: 'USD', price_per_credit: '0.009' },
  { name: 'yen', from_period: '2025-01', tenant: 'tokyo-data', currency: 'JPY', price_per_credit: '1' },
];

function demoRecords(months: number, change: Readonly<Record<string, number>> = {}) {
  return Object.entries(CREDITS).flatMap(([tenant, credits]) =>
    credits.slice(0, months).flatMap((value, at) => {
      const period = `2025-0${at + 1}`;
      const now = change[`${period} ${tenant}`] ?? value;
      return now === null ? [] : [{ ...usageRecord(tenant, now, period), requests: Math.ceil(now / 25) }];
    }),
  );
}

/** The ledger that the answers in the document are from. */
export async function buildDemoLedger(): Promise<OpenLedger> {
  const ledger = openLedger();
  const { connection } = ledger;
  const at = (time: string) => ({ workspaceId: 'ws-demo', nowMs: Date.parse(time) });
  setCards(connection, { cards: DEMO_CARDS, source: 'import', nowMs: Date.parse('2025-01-01T00:00:00Z') });
  await publish(connection, demoRecords(1), at('2025-02-02T06:00:00Z'));
  const names = [
    { tenantId: 'blue-harbor', displayName: 'Blue Harbor Ltd', externalRef: 'C-1001', labels: { region: 'north' } },
    { tenantId: 'ember-labs', displayName: 'Ember Labs', externalRef: 'C-1004', labels: { region: 'south' } },
  ];
  importNames(connection, { names, dryRun: false, ...at('2025-02-02T07:00:00Z') });
  await publish(connection, demoRecords(2), at('2025-03-02T06:00:00Z'));
  const close = (period: string, time: string) =>
    closePeriod(
      connection,
      { period, by: 'Ada', note: `invoices of ${period}`, force: true, settleHours: 48, ...at(time) },
      commitClose,
    );
  close('2025-01', '2025-03-03T09:00:00Z');
  // What the service says of January after its close is a correction, booked in a later month.
  const corrected = { '2025-01 cedar-analytics': 18_900 };
  await publish(connection, demoRecords(3, corrected), at('2025-04-02T06:00:00Z'));
  close('2025-02', '2025-04-03T09:00:00Z');
  const days: [string, number][] = [
    ['2025-04-10', 14_000],
    ['2025-04-20', 28_000],
    ['2025-04-28', 133_460],
  ];
  for (const [day, used] of days) {
    await publish(connection, demoRecords(4, { ...corrected, '2025-04 blue-harbor': used }), at(`${day}T06:00:00Z`));
  }
  return ledger;
}

const UGLY_CARDS = [
  {
    ...{ name: 'euro', workspace: 'ws-demo', from_period: '2025-01', currency: 'EUR', price_per_credit: '0.01' },
    ...{ minimum: '5.00', discount_percent: '10' },
  },
  {
    name: 'yen',
    workspace: 'ws-demo',
    tenant: 'tokyo',
    from_period: '2025-01',
    currency: 'JPY',
    price_per_credit: '2',
  },
  {
    name: 'dollar',
    workspace: 'ws-two',
    tenant: 'c*',
    from_period: '2025-01',
    currency: 'USD',
    price_per_credit: '0.02',
  },
];

type Month = Readonly<Record<string, number>>;
const JANUARY: Month = { 'cedar-analytics': 1000, 'blue-harbor': 700, back: 300, gone: 50, zero: 0 };
const CORRECTED: Month = { ...JANUARY, 'cedar-analytics': 1100, gone: 1050 };
const FEBRUARY: Month = { 'cedar-analytics': 1500, 'blue-harbor': 700, tokyo: 20 };
const MARCH: Month = { 'cedar-analytics': 900, 'blue-harbor': 700, back: 400, tokyo: 80, newcomer: 10 };
const OTHER_JANUARY: Month = { 'cedar-analytics': 10, nocard: 500, ghost: 5 };
const OTHER_MARCH: Month = { 'cedar-analytics': 20, nocard: 5, 'blue-harbor': 30, ghost: 7 };

/**
 * Two workspaces with tenants of the same ids, three currencies, one without a card. January's corrections come before and after
 * February's close; `gone` has nothing but one of them in March. `back` was away in February. The other workspace's `ghost` of
 * January is withdrawn, and it has no February. April is read before its end. Cedar got another name and number after both closes.
 */
export async function buildUglyLedger(): Promise<OpenLedger> {
  const ledger = openLedger();
  const { connection } = ledger;
  const at = (time: string, workspaceId = 'ws-demo') => ({ workspaceId, nowMs: Date.parse(`${time}T06:00:00Z`) });
  const records = (months: Readonly<Record<string, Month>>) =>
    Object.entries(months).flatMap(([period, tenants]) =>
      Object.entries(tenants).map(([tenant, credits]) => ({
        ...usageRecord(tenant, credits, period),
        requests: Math.ceil(credits / 10),
      })),
    );
  const close = (period: string, time: string) =>
    closePeriod(connection, { period, by: 'Ada', note: 'run', force: true, settleHours: 48, ...at(time) }, commitClose);
  const name = (displayName: string, externalRef: string, time: string) =>
    importNames(connection, {
      ...{ names: [{ tenantId: 'cedar-analytics', displayName, externalRef, labels: { region: 'north' } }] },
      ...{ dryRun: false, ...at(time) },
    });
  setCards(connection, { cards: UGLY_CARDS, source: 'import', nowMs: Date.parse('2025-01-01T00:00:00Z') });
  await publish(connection, records({ '2025-01': JANUARY }), at('2025-02-02'));
  name('Cedar', 'C-1', '2025-02-02');
  close('2025-01', '2025-02-03');
  const early = { ...JANUARY, 'cedar-analytics': 1100 };
  await publish(connection, records({ '2025-01': early, '2025-02': FEBRUARY }), at('2025-03-02'));
  close('2025-02', '2025-03-03');
  name('Cedar Ltd', 'C-9', '2025-03-04');
  const settled = { '2025-01': CORRECTED, '2025-02': FEBRUARY, '2025-03': MARCH };
  await publish(connection, records(settled), at('2025-04-02'));
  await publish(connection, records({ ...settled, '2025-04': { 'cedar-analytics': 100 } }), at('2025-04-28'));

  await publish(connection, records({ '2025-01': OTHER_JANUARY }), at('2025-02-02', 'ws-two'));
  const { ghost: _, ...january } = OTHER_JANUARY;
  const other = { '2025-01': january, '2025-03': OTHER_MARCH };
  for (const day of ['2025-04-02', '2025-04-03']) {
    await publish(connection, records(other), { ...at(day, 'ws-two'), withdraws: true });
  }
  const april = { 'cedar-analytics': 40 };
  await publish(connection, records({ ...other, '2025-04': april }), at('2025-04-28', 'ws-two'));
  return ledger;
}
