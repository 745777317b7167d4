import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createEmailText } from '../../../src/alerts/channels/email-text.ts';
import { readMessage } from '../../../src/alerts/channels/read-message.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import { startBrowser } from '../../support/browser.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { jumpFacts, NO_EVIDENCE } from './sample.ts';

const month = (days: number, aDay: bigint) => Array.from({ length: days }, (_, day) => aDay * BigInt(day + 1));
const EVIDENCE = {
  ...NO_EVIDENCE,
  at_stake_credits: 161_300n,
  at_stake_money: { amount: '3226.00', amount_minor: 322_600n, currency: 'EUR' },
  daily_usage: {
    ...{
      since: '2026-02-12',
      usual_daily_credits: 3_300n,
      recent_daily_credits: 14_120n,
      previous_same_point: 66_012n,
    },
    days: { previous: month(31, 3_300n), current: month(20, 9_000n) },
  },
};

test('the HTML of a mail fits a phone and a window, names of any length and the chart included', async () => {
  const names = { tenant_id: 'W'.repeat(500), tenant_name: '\u{1f980}Gesellschaft'.repeat(22) };
  const view = readMessage(renderPayload(buildNotification(jumpFacts({ evidence: EVIDENCE, ...names }))));
  if (view === null) throw new Error('the payload has no view');
  const file = join(temporaryFolder(), 'mail.html');
  writeFileSync(file, createEmailText(view).html);
  const look = await startBrowser();
  for (const [width, scheme] of [
    [375, 'light'],
    [600, 'light'],
    [600, 'dark'],
  ] as const) {
    const page = await look(`file://${file}`, width, scheme);
    expect(await page.seriousFaults(), `at ${width}, ${scheme}`).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    expect(await page.evaluate("document.querySelectorAll('.before, .now').length")).toBe(51);
    expect(page.complaints).toEqual([]);
  }
});
