import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { browserOfFile } from '../support/browser.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { AT, HOSTILE, LARGE, lookAt } from './looked-at-page.ts';
import { tenantFile, workspaceFile } from './report-files.ts';

const look = browserOfFile();

const TENANT = { tenantId: HOSTILE, name: HOSTILE, credits: [5n, LARGE, 3n] };

const DATA = {
  ...{ workspaceId: HOSTILE, workspaceName: HOSTILE, period: '2026-02', state: 'open', asOf: AT, complete: false },
  timezone: 'UTC',
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

describe('with hostile tenant names, at 375 and 1280 pixels, light and dark, in a browser', () => {
  test('the page is readable, runs no script and requests nothing', { timeout: 120_000 }, async () => {
    const file = join(temporaryFolder(), 'page.html');
    writeFileSync(file, await workspaceFile(DATA));
    await lookAt(look, file, 3);
  });

  test("a tenant's page is readable, runs no script and requests nothing", { timeout: 120_000 }, async () => {
    const file = join(temporaryFolder(), 'tenant.html');
    const data = {
      ...{
        ...DATA,
        tenantId: HOSTILE,
        name: HOSTILE,
        externalRef: HOSTILE,
        labels: {},
        credits: [5n, LARGE, 3n],
        withdrawn: true,
      },
      ...{
        requests: [1n, 2n, 3n],
        entries: [{ at: AT, period: '2026-02', kind: 'increased', delta: LARGE, after: LARGE }],
      },
      lines: [{ kind: 'usage, tier 1', credits: LARGE, amount: 5n, currency: 'EUR', card: HOSTILE }],
    };
    const links = { workspace: '/report', tenant: () => '/report/tenant' };
    writeFileSync(file, await tenantFile(data, links));
    await lookAt(look, file, 3);
  });
});
