import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { BilledLine } from '../../src/billing/statement/billed.ts';
import { statementDocument } from '../../src/billing/statement/document.ts';
import { createCharts } from '../../src/reports/page/charts.ts';
import { pageHtml } from '../../src/reports/page/page-html.ts';
import { tenantHtml } from '../../src/reports/page/tenant-html.ts';
import { statementHtml } from '../../src/reports/statement/statement-html.ts';
import { startBrowser } from '../support/browser.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const HOSTILE = `</title></svg><script>document.title='run'</script><img src=//x.test/y onerror="document.title='run'">"'&${'W'.repeat(300)}\u202e`;
const LARGE = 9_007_199_254_740_993n;
const TENANT = { tenantId: HOSTILE, name: HOSTILE, credits: [5n, LARGE, 3n] };
const AT = '2026-02-20T12:00:00.000Z';

const DATA = {
  ...{ workspaceId: HOSTILE, workspaceName: HOSTILE, period: '2026-02', state: 'open', asOf: AT, complete: false },
  ...{ origin: { runId: 'run_1', head: { seq: 7, digest: 'a'.repeat(64) } }, tenantCounts: [3, 3, 3] },
  ...{ months: ['2025-12', '2026-01', '2026-02'] },
  ...{ totals: [6n, LARGE + 2n, 6n], others: [1n, 2n, 3n], top: [TENANT], tenants: [TENANT] },
  money: [{ currency: 'EUR', amounts: [100n, -50n, 300n] }],
  movers: [{ tenantId: HOSTILE, name: HOSTILE, credits: 5n, previous: null, change: 5n }],
  budgets: [{ name: HOSTILE, credits: 5n, used: LARGE }],
  days: [
    { day: 1, current: 1n, previous: 2n },
    { day: 2, current: 3n, previous: null },
  ],
  moreAlerts: 1,
  alerts: [{ severity: 'critical', state: 'firing', since: AT, muted: null, summary: HOSTILE }],
  forecast: { credits: 12n, money: [{ currency: 'EUR', amountMinor: 600n }] },
  movedSince: 'same point' as const,
  margins: { totals: [], lowest: [], without: [] },
  adjustments: [{ name: HOSTILE, corrects: '2025-12', credits: -5n, at: AT }],
};

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

/** Opens a file at both widths, light and dark: it can be read, and runs and asks for nothing. */
async function lookAt(file: string, charts: number): Promise<void> {
  const look = await startBrowser();
  for (const scheme of ['light', 'dark'] as const) {
    for (const width of [1280, 375]) {
      const page = await look(`file://${file}`, width, scheme);
      const where = `at ${width}, ${scheme}`;
      expect(await page.evaluate("document.querySelectorAll('svg[role=img]').length")).toBe(charts);
      expect(await page.evaluate('document.scripts.length + document.images.length')).toBe(0);
      expect(await page.evaluate('document.title')).toContain('<script>');
      expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'), where).toBe(false);
      const isDark = await page.evaluate("getComputedStyle(document.body).backgroundColor !== 'rgb(255, 255, 255)'");
      expect(isDark, where).toBe(scheme === 'dark');
      await page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })");
      expect(await page.seriousFaults(), where).toEqual([]);
      expect(page.complaints).toEqual([]);
      expect(page.requests.filter((request) => request !== `file://${file}`)).toEqual([]);
      if (SHOTS !== undefined) await page.screenshot(join(SHOTS, `${charts}-charts-${width}-${scheme}.png`));
    }
  }
}

const SHOTS = process.env.SCREENSHOTS;

describe('whatever tenants are called, at 375 and 1280 pixels, light and dark, in a browser', () => {
  test('the page can be read, and runs and asks for nothing', { timeout: 120_000 }, async () => {
    const file = join(temporaryFolder(), 'page.html');
    writeFileSync(file, pageHtml(DATA, await createCharts()));
    await lookAt(file, 3);
  });

  test('so can the page of a tenant', { timeout: 120_000 }, async () => {
    const file = join(temporaryFolder(), 'tenant.html');
    const data = {
      ...{ ...DATA, tenantId: HOSTILE, name: HOSTILE, externalRef: HOSTILE, credits: [5n, LARGE, 3n], withdrawn: true },
      ...{
        requests: [1n, 2n, 3n],
        entries: [{ at: AT, period: '2026-02', kind: 'increased', delta: LARGE, after: LARGE }],
      },
      lines: [{ kind: 'usage, tier 1', credits: LARGE, amount: 5n, currency: 'EUR', card: HOSTILE }],
    };
    const links = { workspace: '/report', tenant: () => '/report/tenant' };
    writeFileSync(file, tenantHtml(data, await createCharts(), links));
    await lookAt(file, 3);
  });

  test('so can a statement', { timeout: 120_000 }, async () => {
    const file = join(temporaryFolder(), 'statement.html');
    writeFileSync(file, [...statementHtml(STATEMENT, STATEMENT.tenants)].join(''));
    await lookAt(file, 0);
  });

  test('a fault is found where there is one', { timeout: 60_000 }, async () => {
    const file = join(temporaryFolder(), 'faulty.html');
    writeFileSync(
      file,
      '<!doctype html><html><title>a</title><main><p style="color:#ccc">pale</p><img src="data:,"></main>',
    );
    const look = await startBrowser();
    const faults = await (await look(`file://${file}`, 375)).seriousFaults();
    expect(faults.join('\n')).toMatch(/color-contrast.*html-has-lang.*image-alt/s);
  });
});
