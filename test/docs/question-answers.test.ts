import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { buildUglyLedger } from './question-ledgers.ts';

// cspell:ignore nocard

const QUESTION = /^### (.+)\n\n```sql\n([\s\S]*?)```/gm;
const TEXT = readFileSync(new URL('../../docs/questions.md', import.meta.url), 'utf8');

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
  const { connection } = await buildUglyLedger();
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
