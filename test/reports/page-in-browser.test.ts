import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCharts } from '../../src/reports/page/charts.ts';
import { pageHtml } from '../../src/reports/page/page-html.ts';
import { startBrowser } from '../support/browser.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const HOSTILE = `</title></svg><script>document.title='run'</script><img src=//x.test/y onerror="document.title='run'">"'&${'W'.repeat(300)}\u202e`;
const LARGE = 9_007_199_254_740_993n;
const TENANT = { tenantId: HOSTILE, name: HOSTILE, credits: [5n, LARGE, 3n] };
const AT = '2026-02-20T12:00:00.000Z';

const DATA = {
  ...{ workspaceId: HOSTILE, workspaceName: HOSTILE, period: '2026-02', state: 'open', asOf: AT, complete: false },
  ...{ headDigest: 'a'.repeat(64), months: ['2025-12', '2026-01', '2026-02'], tenantCounts: [3, 3, 3] },
  ...{ totals: [6n, LARGE + 2n, 6n], others: [1n, 2n, 3n], top: [TENANT], tenants: [TENANT] },
  money: [{ currency: 'EUR', amounts: [100n, -50n, 300n] }],
  movers: [{ name: HOSTILE, credits: 5n, previous: null, change: 5n }],
  days: [{ day: 1, current: 1n, previous: 2n }],
  alerts: [{ rule: 'jump', severity: 'critical', state: 'firing', name: HOSTILE, since: AT }],
  adjustments: [{ name: HOSTILE, corrects: '2025-12', credits: -5n, at: AT }],
};

test('the page can be read at 375 and 1280 pixels, and runs and asks for nothing, whatever tenants are called', {
  timeout: 120_000,
}, async () => {
  const file = join(temporaryFolder(), 'page.html');
  writeFileSync(file, pageHtml(DATA, await createCharts()));
  const look = await startBrowser();
  for (const width of [1280, 375]) {
    const page = await look(`file://${file}`, width);
    expect(await page.evaluate("document.querySelectorAll('svg[role=img]').length")).toBe(3);
    expect(await page.evaluate('document.scripts.length + document.images.length')).toBe(0);
    expect(await page.evaluate('document.title')).toContain('<script>');
    expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth'), `at ${width}`).toBe(false);
    expect(page.complaints).toEqual([]);
    expect(page.requests.filter((request) => request !== `file://${file}`)).toEqual([]);
  }
});
