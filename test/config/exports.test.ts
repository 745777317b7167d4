import { join } from 'node:path';
import { expect, test } from 'vitest';
import { FINANCE_VIEWS } from '../../src/config/schema/finance-views.ts';
import { financeViews } from '../../src/reports/queries/finance-view.ts';
import { openLedger } from '../support/open-ledger.ts';
import { configCases, failure, shownInSample } from './config-cases.ts';

const cases = configCases();
const { loadSample } = cases;

test('nothing is exported unless it is configured', async () => {
  expect((await loadSample('')).exports).toEqual([]);
});

test('an export is made daily as CSV beside the ledger, thirty files are kept, unless something else is said', async () => {
  const config = await loadSample(
    'exports: [{ name: all, view: finance_usage }, { name: f, view: focus, after: close }]',
  );
  const common = {
    ...{ format: 'csv', timezone: 'UTC', workspaceId: null },
    ...{ folder: join(cases.cwd, 'data', 'exports'), to: null, keep: 30 },
  };
  expect(config.exports).toEqual([
    { ...common, name: 'all', view: 'usage', cron: '0 6 * * *', period: null },
    { ...common, name: 'f', view: 'focus', cron: null, period: 'previous' },
  ]);
});

test('what the sample shows of exports is valid', async () => {
  expect((await loadSample(shownInSample('exports'))).exports).toMatchObject([
    { name: 'charges-of-the-month', view: 'charges', cron: null, keep: 30 },
    { name: 'usage-daily', format: 'parquet', period: 'current', keep: 30 },
    { name: 'focus', cron: null },
  ]);
});

test.each([
  ['name: ../x, view: usage', 'exports[0].name', 'is not a word of small letters, digits, - and _'],
  ['name: x, view: invoices', 'exports[0].view', /must be one of/],
  ['name: x, view: usage, format: ods', 'exports[0].format', /must be one of/],
  ['name: x, view: usage, after: close, cron: "0 6 * * *"', 'exports[0].cron', /conflicts with after/],
  ['name: x, view: usage, after: close, period: current', 'exports[0].period', /conflicts with after/],
  ['name: x, view: usage, workspace: ws-9', 'exports[0].workspace', 'is not a workspace of this file'],
  ['name: x, view: usage, keep: 0', 'exports[0].keep', 'must be at least 1'],
  ['name: x, view: usage }, { name: x, view: charges', 'exports[1].name', 'is the same as exports[0].name'],
])('exports: [{ %s }] is refused', async (settings, path, message) => {
  const { faults } = await failure(() => loadSample(`exports: [{ ${settings} }]`));
  const expected = typeof message === 'string' ? message : expect.stringMatching(message);
  expect(faults).toEqual([{ path, message: expected, hint: expect.stringMatching(/\S/) }]);
});

test('the views that can be exported are those of the ledger', () => {
  const { connection } = openLedger();
  expect(FINANCE_VIEWS.map((view) => `finance_${view}`)).toEqual(financeViews(connection));
});

test.each([
  ['budgets: [{ workspace: ws-9, credits: 5 }]', 'budgets[0].workspace'],
  ["rates: [{ name: flat, currency: EUR, workspace: ws-9, per_credit: '0.01' }]", 'rates[0].workspace'],
])('%s names a workspace that is not configured, and is refused', async (text, path) => {
  await expect(loadSample(text)).rejects.toThrow(
    expect.objectContaining({
      faults: expect.arrayContaining([expect.objectContaining({ path, message: 'is not a workspace of this file' })]),
    }),
  );
});
