import { parseHTML } from 'linkedom';
import { expect, test } from 'vitest';
import type { PageData } from '../../src/reports/page/page-data.ts';
import { workspaceFile } from './report-files.ts';

const DATA: PageData = {
  ...{ workspaceId: 'ws-1', workspaceName: 'Production', period: '2026-02', state: 'open', timezone: 'UTC' },
  ...{ asOf: '2026-02-20T12:00:00.000Z', complete: false, months: ['2026-01', '2026-02'] },
  origin: { runId: 'run_1', head: { seq: 7, digest: 'a'.repeat(64) } },
  ...{ totals: [9_000n, 4_000n], tenantCounts: [12, 12], top: [], others: [9_000n, 4_000n], tenants: [] },
  money: [
    { currency: 'EUR', amounts: [11_250n, 5_000n] },
    { currency: 'JPY', amounts: [0n, 7_500n] },
  ],
  days: [
    { day: 19, current: 3_900n, previous: 3_000n },
    { day: 20, current: 4_000n, previous: 3_200n },
    { day: 21, current: null, previous: 3_300n },
  ],
  ...{
    movers: [],
    budgets: [],
    alerts: [],
    moreAlerts: 0,
    adjustments: [],
    margins: { totals: [], lowest: [], without: [] },
    forecast: null,
    movedSince: 'same point',
  },
};

async function textOf(change: Partial<PageData>): Promise<{ lead: string; body: string }> {
  const { document } = parseHTML(await workspaceFile({ ...DATA, ...change }));
  return { lead: document.querySelector('.lead')?.textContent ?? '', body: document.body.textContent ?? '' };
}

test('the page begins with the month to date in credits and money, compared with the same day of the previous month', async () => {
  expect((await textOf({})).lead).toBe(
    'Month to date: 4,000 credits and 50.00 EUR and 7,500 JPY for 12 tenants, ' +
      '25% more than on the same day of 2026-01 (3,200). The month is not over.',
  );
});

test('a month that is over is compared with all of the previous month', async () => {
  const { lead } = await textOf({ state: 'closed', complete: true });
  expect(lead).toContain(
    '4,000 credits and 50.00 EUR and 7,500 JPY for 12 tenants, 55% fewer than in 2026-01 (9,000).',
  );
  expect(lead).toContain('The month is closed, verified as complete after its end.');
});

test('nothing is compared without a reading of the same day', async () => {
  const days = [{ day: 20, current: 4_000n, previous: null }];
  expect((await textOf({ days })).lead).toContain('for 12 tenants. The month is not over.');
});

test('an open month has a forecast in credits and money, drawn as an outline', async () => {
  const forecast = { credits: 6_200n, money: [{ currency: 'EUR', amountMinor: 7_501n }] };
  expect((await textOf({ forecast })).lead).toContain(
    'The month is not over. Forecast for the month: 6,200 credits and 75.01 EUR.',
  );
  const outlines = async (change: Partial<PageData>) =>
    (await workspaceFile({ ...DATA, ...change })).split('stroke-dasharray="4 3"').length - 1;
  // One for credits, one for euros.
  expect([await outlines({ forecast }), await outlines({})]).toEqual([2, 0]);
});

test('alerts are sentences', async () => {
  const alert = { severity: 'critical', state: 'acknowledged', since: '2026-02-18T06:00:00.000Z', muted: null };
  const { body } = await textOf({ alerts: [{ ...alert, summary: 'acme uses three times as much.' }] });
  expect(body).toContain('critical: acme uses three times as much. since 2026-02-18, acknowledged');
  const many = Array.from({ length: 20 }, (_, index) => ({ ...alert, summary: `tenant-${index} uses more.` }));
  const html = await workspaceFile({ ...DATA, alerts: many, moreAlerts: 31 });
  const [glance, folded] = html.split('<summary>46 more</summary>');
  expect(glance).toContain('tenant-4 uses more.');
  expect(glance).not.toContain('tenant-5 uses more.');
  expect(folded).toContain('tenant-19 uses more.');
  expect(folded).toContain('and 31 more: see <code>usage-ledger alerts</code>');
});

test('moments follow the clock of the workspace, and months stay as they are', async () => {
  const since = '2026-02-20T01:00:00.000Z';
  const { body } = await textOf({
    timezone: 'America/New_York',
    alerts: [{ severity: 'warning', state: 'firing', since, muted: null, summary: 'acme grows.' }],
    adjustments: [{ name: 'acme', corrects: '2026-01', credits: 5n, at: since }],
  });
  expect(body).toContain('Workspace ws-1, as of 2026-02-20 07:00 UTC-5');
  expect(body).toContain('warning: acme grows. since 2026-02-19');
  expect(body).toMatch(/acme\s*2026-01\s*5\s*2026-02-19 20:00 UTC-5/);
});

test('the page ends with the run and the digest', async () => {
  const { body } = await textOf({});
  expect(body.trimEnd()).toMatch(/Created from run run_1; ledger head a{64} \(link 7\)$/);
});
