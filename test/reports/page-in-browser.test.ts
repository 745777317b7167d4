import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { h } from 'preact';
import { describe, expect, test } from 'vitest';
import type { BilledLine } from '../../src/billing/statement/billed.ts';
import { statementDocument } from '../../src/billing/statement/document.ts';
import { ChartBox } from '../../src/reports/page/chart-card.tsx';
import { reportDocument } from '../../src/reports/page/report-document.tsx';
import { statementHtml } from '../../src/reports/statement/statement-html.ts';
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

test('on a phone a chart of months shows its last month first', { timeout: 60_000 }, async () => {
  const svg = '<svg role="img" aria-label="months" viewBox="0 0 720 260"><rect width="720" height="260"/></svg>';
  const file = join(temporaryFolder(), 'months.html');
  const boxes = [h(ChartBox, { label: 'months', svg, ofMonths: true }), h(ChartBox, { label: 'days', svg })];
  writeFileSync(file, reportDocument('charts', boxes));
  const hidden = `[...document.querySelectorAll('.plot')].map((box) => {
    const [frame, chart] = [box, box.firstElementChild].map((each) => each.getBoundingClientRect());
    return [Math.round(frame.left - chart.left) > 0, Math.round(chart.right - frame.right) > 0];
  })`;
  const onPhone = await look(`file://${file}`, 360);
  expect(await onPhone.evaluate(hidden)).toEqual([
    [true, false],
    [false, true],
  ]);
  expect(await (await look(`file://${file}`, 1440)).evaluate(hidden)).toEqual([
    [false, false],
    [false, false],
  ]);
});

describe('with hostile tenant names, at 375 and 1280 pixels, light and dark, in a browser', () => {
  test('a statement is readable, runs no script and requests nothing', { timeout: 120_000 }, async () => {
    const file = join(temporaryFolder(), 'statement.html');
    writeFileSync(file, [...statementHtml(STATEMENT, STATEMENT.tenants)].join(''));
    await lookAt(look, file, 0);
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
