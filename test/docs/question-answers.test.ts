import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { setCards } from '../../src/ledger/journal/charges/charge-run.ts';
import { commitClose } from '../../src/ledger/journal/charges/commit-close.ts';
import { importNames } from '../../src/ledger/journal/charges/names.ts';
import { closePeriod } from '../../src/ledger/journal/close/close-period.ts';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';

// cspell:ignore nocard

const QUESTION = /^### (.+)\n\n```sql\n([\s\S]*?)```/gm;
const TEXT = readFileSync(new URL('../../docs/questions.md', import.meta.url), 'utf8');

const CARDS = [
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
async function buildUglyLedger(): Promise<LedgerDb> {
  const { connection } = openLedger();
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
  setCards(connection, { cards: CARDS, source: 'import', nowMs: Date.parse('2025-01-01T00:00:00Z') });
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
  return connection;
}

/**
 * What each recipe must say, worked out by hand. A euro tenant pays a cent a credit less 10 %, at least 5.00; cedar's January was
 * closed at 9.00 and owes 9.90, that of `gone` at 5.00 and owes 9.45.
 */
const ANSWERS: Readonly<Record<string, readonly (readonly unknown[])[]>> = {
  'Usage by tenant': [
    ['ws-demo', 'cedar-analytics', 100, 10, 'settling'],
    ['ws-two', 'cedar-analytics', 40, 4, 'settling'],
  ],
  'Totals by month': [
    ['ws-demo', '2025-01', 5, 2050, 'closed', 1, '2025-04-28'],
    ['ws-demo', '2025-02', 3, 2220, 'closed', 1, '2025-04-28'],
    ['ws-demo', '2025-03', 5, 2090, 'settling', 1, '2025-04-28'],
    ['ws-demo', '2025-04', 1, 100, 'settling', 0, '2025-04-28'],
    ['ws-two', '2025-01', 2, 510, 'settling', 1, '2025-04-28'],
    ['ws-two', '2025-03', 4, 62, 'settling', 1, '2025-04-28'],
    ['ws-two', '2025-04', 1, 40, 'settling', 0, '2025-04-28'],
  ],
  'Biggest changes': [
    ['ws-demo', 'cedar-analytics', 900, 100, -800, -88.89],
    ['ws-demo', 'blue-harbor', 700, 0, -700, -100],
    ['ws-demo', 'back', 400, 0, -400, -100],
  ],
  'New tenants': [
    ['ws-demo', 'newcomer', 10],
    ['ws-two', 'blue-harbor', 30],
    ['ws-two', 'ghost', 7],
  ],
  'Stopped tenants': [],
  'Usage in a quarter': [
    ['ws-demo', 'cedar-analytics', 3400, 100, 3500],
    ['ws-demo', 'blue-harbor', 2100, 0, 2100],
    ['ws-demo', 'gone', 50, 1000, 1050],
    ['ws-demo', 'back', 700, 0, 700],
    ['ws-two', 'nocard', 505, 0, 505],
    ['ws-demo', 'tokyo', 100, 0, 100],
    ['ws-two', 'blue-harbor', 30, 0, 30],
    ['ws-two', 'cedar-analytics', 30, 0, 30],
    ['ws-demo', 'newcomer', 10, 0, 10],
    ['ws-two', 'ghost', 7, 0, 7],
    ['ws-demo', 'zero', 0, 0, 0],
  ],
  'Amounts by customer': [
    // Cedar's 9.00 of January and 13.50 of February, which bears the 0.90; its March is that of the new number.
    ['C-1', 'EUR', 2500, '23.40'],
    ['C-9', 'EUR', 900, '8.10'],
    ['ws-demo back', 'EUR', 700, '10.00'],
    ['ws-demo blue-harbor', 'EUR', 2100, '18.90'],
    ['ws-demo gone', 'EUR', 50, '9.45'],
    ['ws-demo newcomer', 'EUR', 10, '5.00'],
    ['ws-demo tokyo', 'JPY', 100, '200'],
    ['ws-demo zero', 'EUR', 0, '5.00'],
    ['ws-two cedar-analytics', 'USD', 30, '0.60'],
  ],
  'Revenue by month': [
    ['2025-01', 'EUR', '30.30'],
    ['2025-01', 'USD', '0.20'],
    ['2025-02', 'EUR', '20.70'],
    ['2025-02', 'JPY', '40'],
    ['2025-03', 'EUR', '28.85'],
    ['2025-03', 'JPY', '160'],
    ['2025-03', 'USD', '0.40'],
    ['2025-04', 'EUR', '5.00'],
    ['2025-04', 'USD', '0.80'],
  ],
  'Lines of a charge': [
    [1, 'usage', 1, 700, '0.01', '7.00', 'EUR'],
    [2, 'discount', null, null, null, '-0.70', 'EUR'],
  ],
  'Missing rate cards': [
    ['ws-two', '2025-01', 'nocard'],
    ['ws-two', '2025-03', 'blue-harbor'],
    ['ws-two', '2025-03', 'ghost'],
    ['ws-two', '2025-03', 'nocard'],
  ],
  Corrections: [['2025-03-02', 100, '0.90', 'EUR', 'usage', '2025-02']],
  'Closes and overridden blockers': [
    ['ws-demo', '2025-01', 'close', 'Ada', '2025-02-03', 'run', 1, 1],
    ['ws-demo', '2025-02', 'close', 'Ada', '2025-03-03', 'run', 1, 1],
  ],
  'History of a figure': [
    ['2025-02-02', 'opened', 1000, 1000],
    ['2025-03-02', 'increased', 100, 1100],
  ],
  'Usage by day': [['2025-04-28', 100, 1]],
  'Invoice names and numbers': [
    ['ws-demo', '2025-04', 'C-9', 'Cedar Ltd', '5.00', 'EUR'],
    ['ws-two', '2025-04', null, 'cedar-analytics', '0.80', 'USD'],
  ],
  'Usage by label': [
    ['north', 100],
    ['none', 40],
  ],
  Freshness: [
    ['ws-demo', '2025-04-28T06:00:00.000Z', 'applied', '2025-01', '2025-04'],
    ['ws-two', '2025-04-28T06:00:00.000Z', 'applied', '2025-01', '2025-04'],
  ],
};

const RECIPES = [...TEXT.matchAll(QUESTION)].map(([, question = '', sql = '']) => ({ question, sql }));

test('each recipe of the cookbook answers rightly on an ugly ledger', async () => {
  expect(RECIPES.map(({ question }) => question).toSorted()).toEqual(Object.keys(ANSWERS).toSorted());
  const connection = await buildUglyLedger();
  const ask = (sql: string) => connection.prepare(sql).raw().all();
  for (const { question, sql } of RECIPES) expect.soft(ask(sql), question).toEqual(ANSWERS[question]);

  const of = (question: string, month: string, other: string) =>
    RECIPES.find((recipe) => recipe.question === question)?.sql.replaceAll(month, other) ?? '';
  const away = 'Stopped tenants';
  expect(ask(of(away, '2025-03', '2025-02'))).toEqual([
    ['ws-demo', 'back', 300],
    ['ws-demo', 'gone', 50],
  ]);
  // April is not over: whoever has no record yet may still come.
  expect(ask(of(away, '2025-03', '2025-04'))).toEqual([]);
  const names = 'Invoice names and numbers';
  expect(ask(of(names, '2025-04', '2025-02'))).toContainEqual(['ws-demo', '2025-02', 'C-1', 'Cedar', '14.40', 'EUR']);
  expect(ask(of(names, '2025-04', '2025-03'))).toContainEqual(['ws-demo', '2025-03', null, 'gone', '4.45', 'EUR']);
});
