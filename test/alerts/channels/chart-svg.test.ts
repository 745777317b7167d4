import { expect, test } from 'vitest';
import { chartSvg } from '../../../src/alerts/channels/chart-svg.ts';
import { emailText } from '../../../src/alerts/channels/email-text.ts';
import { messageView } from '../../../src/alerts/channels/message-view.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/notify/notification.ts';
import { jumpFacts, NO_EVIDENCE } from './sample.ts';

const COURSE = {
  ...{ since: '2026-02-09', usual_daily_credits: 3_200n, recent_daily_credits: 12_900n, previous_same_point: null },
  days: {
    previous: Array.from({ length: 31 }, (_, index) => BigInt(index + 1) * 3_226n),
    current: [3_000n, null, 9_000n, 180_000n],
  },
};

test('the chart draws both months and the threshold, and leaves days out that nobody read', () => {
  const told = buildNotification(jumpFacts({ evidence: { ...NO_EVIDENCE, course: COURSE } }));
  const svg = chartSvg(told) ?? '';
  const lines = [...svg.matchAll(/points="([^"]*)"/g)].map(([, points]) => points?.split(' ').length);
  expect(lines).toEqual([31, 3]);
  expect(svg).toContain('>threshold</text>');
  for (const label of ['2026-01', '2026-02', '180,000']) expect(svg).toContain(`>${label}</text>`);
  expect(chartSvg(buildNotification(jumpFacts()))).toBeNull();
});

test('a mail has the chart in its HTML, bars in its text, and the commands to type next in both', () => {
  const payload = renderPayload(buildNotification(jumpFacts({ evidence: { ...NO_EVIDENCE, course: COURSE } })));
  const view = messageView(payload);
  if (view === null) throw new Error('the payload cannot be read');
  const { text, html } = emailText(view);
  expect(html).toContain('<svg ');
  expect(text).not.toContain('<svg ');
  expect(text).toContain('2026-02  ▁▁▁█');
  for (const part of [text, html.replaceAll('&quot;', '"')]) {
    expect(part).toContain('usage-ledger alerts ack alert_1 --note "..."');
  }
});
