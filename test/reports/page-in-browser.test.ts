import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { h } from 'preact';
import { describe, expect, test } from 'vitest';
import type { BilledLine } from '../../src/billing/statement/billed.ts';
import { statementDocument } from '../../src/billing/statement/document.ts';
import { ChartCard } from '../../src/reports/page/chart-card.tsx';
import { createCharts } from '../../src/reports/page/charts.ts';
import { monthEndDocument } from '../../src/reports/page/month-end-document.tsx';
import { reportDocument } from '../../src/reports/page/report-document.tsx';
import type { MonthEnd } from '../../src/reports/queries/month-end-record.ts';
import { statementPage } from '../../src/reports/statement/statement-page.tsx';
import { browserOfFile } from '../support/browser.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { AT, HOSTILE, LARGE, lookAt } from './looked-at-page.ts';

const look = browserOfFile();

const USAGE_LINE: BilledLine = {
  ...{ kind: 'usage', tier: 1, credits: LARGE, unitCredits: 1000n, unitPrice: '0.000000000000000125' },
  ...{
    amountMinor: 123_456_789n,
    currency: 'EUR',
    rateCard: HOSTILE,
    correctsPeriod: null,
    entryId: null,
    reason: null,
    requests: null,
  },
};

const CORRECTION: BilledLine = { ...USAGE_LINE, kind: 'correction', tier: null, unitPrice: null, unitCredits: null };
const BILLED = { tenantId: HOSTILE, displayName: HOSTILE, externalRef: HOSTILE, creditsUsed: LARGE, requestCount: 5n };

const STATEMENT = statementDocument({
  header: { workspaceId: HOSTILE, period: '2026-02', certificate: null },
  ...{ state: 'open', asOf: AT, headDigest: 'a'.repeat(64), tenantsInPeriod: 2, proof: null },
  tenants: [
    {
      tenant: { ...BILLED, lines: [USAGE_LINE, { ...CORRECTION, correctsPeriod: '2026-01', entryId: 7n }] },
      proof: null,
      projection: { credits: LARGE * 2n, money: [{ currency: 'EUR', amountMinor: 123_456_789n }] },
    },
    { tenant: { ...BILLED, displayName: null, lines: [] }, proof: null, projection: null },
  ],
});

const NAMES = { count: 9, first: [HOSTILE, HOSTILE] };
const MONTH_END: MonthEnd = {
  period: '2026-02',
  at: AT,
  ready: false,
  sound: false,
  faults: 2,
  head_digest: 'a'.repeat(64),
  workspaces: [
    {
      workspace_id: HOSTILE,
      state: 'blocked',
      reconciled: 'no',
      read_at: AT,
      unchanged_since: AT,
      settled: false,
      tenants: 3,
      credits_used: LARGE,
      unnamed: NAMES,
      unpriced: NAMES,
      corrections: { tenants: 1, amounts: [] },
      amounts: [{ currency: 'EUR', amount: '92233720368547758.07', previous_amount: '-92233720368547758.07' }],
      blockers: [{ kind: 'change', reason: HOSTILE, command: `usage-ledger close --workspace ${HOSTILE}` }],
    },
  ],
  money: [
    {
      currency: 'EUR',
      amount: '92233720368547758.07',
      previous_amount: '0.00',
      change: '92233720368547758.07',
      change_percent: null,
      largest: [
        {
          workspace_id: HOSTILE,
          tenant_id: HOSTILE,
          amount: '92233720368547758.07',
          previous_amount: '0.00',
          credits_used: LARGE,
          previous_credits: 0n,
          reasons: ['new', 'usage', 'card'],
        },
      ],
    },
  ],
};

test('on a phone charts fit, and their labels are legible and do not overlap', { timeout: 60_000 }, async () => {
  const charts = await createCharts();
  const text = { title: 'credits', description: '' };
  const months = [...Array.from({ length: 12 }, (_, at) => `2025-${String(at + 1).padStart(2, '0')}`), '2026-01'];
  const bars = months.map((month, at) => ({ month, series: 'a', value: 3e15 * at }));
  const days = Array.from({ length: 31 }, (_, at) => ({ day: at + 1, series: 'a', value: 3e15 * at }));
  const card = (svg: string, ofMonths: boolean) =>
    h(ChartCard, {
      ...{ title: 'credits', drawing: { title: 'credits', series: [], svg, hasForecast: false } },
      ...{ ofMonths, heads: ['Month'], rows: [] },
    });
  const drawings = [
    card(charts.stackedBars(bars, { series: ['a'] }, text), true),
    card(charts.lines(days, ['a'], text), false),
  ];
  const file = join(temporaryFolder(), 'charts.html');
  writeFileSync(file, reportDocument('charts', h('main', { class: 'report' }, drawings)));
  const page = await look(`file://${file}`, 360);
  expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')).toBe(false);
  const drawn = (await page.evaluate(`[...document.querySelectorAll('.plot')].map((box) =>
    [...box.querySelectorAll('text')].map((each) => {
      const { left, right, top, bottom } = each.getBoundingClientRect();
      return { label: each.textContent, left, right, top, bottom };
    }).filter(({ left, right }) => left < right))`)) as Label[][];
  expect(drawn.map((labels) => labels.map(({ label }) => label))).toEqual([
    expect.arrayContaining(['2025-01', '2025-10', '2026-01', '0']),
    expect.arrayContaining(['5', '30', '0']),
  ]);
  for (const labels of drawn) {
    for (const { label, left, right, top, bottom } of labels) {
      expect([left >= 0, right <= 360, bottom - top >= 9], label).toEqual([true, true, true]);
    }
    const overlapping = labels.flatMap((one, at) =>
      labels
        .slice(at + 1)
        .filter((other) => overlap(one, other))
        .map((other) => `${one.label} ${other.label}`),
    );
    expect(overlapping).toEqual([]);
  }
});

interface Label {
  label: string;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

function overlap(one: Label, other: Label): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}

describe('with hostile tenant names, at 375 and 1280 pixels, light and dark, in a browser', () => {
  test('a statement is readable, runs no script and requests nothing', { timeout: 120_000 }, async () => {
    const file = join(temporaryFolder(), 'statement.html');
    writeFileSync(file, [...statementPage(STATEMENT, STATEMENT.tenants)].join(''));
    await lookAt(look, file, 0);
  });

  test("a month's end is readable, runs no script and requests nothing", { timeout: 120_000 }, async () => {
    const file = join(temporaryFolder(), 'month-end.html');
    writeFileSync(file, monthEndDocument(MONTH_END));
    for (const scheme of ['light', 'dark'] as const) {
      for (const width of [1280, 375]) {
        const page = await look(`file://${file}`, width, scheme);
        expect(await page.evaluate('document.scripts.length + document.images.length')).toBe(0);
        expect(await page.evaluate('document.body.innerText')).toContain('<script>');
        expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'), `${width}`).toBe(false);
        expect(await page.seriousFaults(), `at ${width}, ${scheme}`).toEqual([]);
        expect(page.complaints).toEqual([]);
        expect(page.requests).toEqual([`file://${file}`]);
      }
    }
  });

  test('a phone shows each amount of a statement without scrolling sideways', { timeout: 60_000 }, async () => {
    const file = join(temporaryFolder(), 'phone.html');
    writeFileSync(file, [...statementPage(STATEMENT, STATEMENT.tenants)].join(''));
    const page = await look(`file://${file}`, 360);
    const clipped = `[...document.querySelectorAll('td, .figure, h1')].filter((each) => {
      const { left, right } = each.getBoundingClientRect();
      return left < 0 || right > window.innerWidth || each.scrollWidth > each.clientWidth + 1;
    }).map((each) => each.textContent)`;
    expect(await page.evaluate(clipped)).toEqual([]);
    expect(await page.evaluate('document.querySelectorAll("td").length')).toBeGreaterThan(6);
  });

  test('the check finds a fault', { timeout: 60_000 }, async () => {
    const file = join(temporaryFolder(), 'faulty.html');
    writeFileSync(
      file,
      '<!doctype html><html><title>a</title><main><p style="color:#ccc">pale</p><img src="data:,"></main>',
    );
    const faults = await (await look(`file://${file}`, 375)).seriousFaults();
    expect(faults.join('\n')).toMatch(/color-contrast.*html-has-lang.*image-alt/s);
  });
});
