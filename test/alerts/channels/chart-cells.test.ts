import { expect, test } from 'vitest';
import { chartCells, emailText } from '../../../src/alerts/channels/email-text.ts';
import { messageView } from '../../../src/alerts/channels/message-view.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import { jumpFacts, NO_EVIDENCE } from './sample.ts';

const DAILY_USAGE = {
  ...{ since: '2026-02-09', usual_daily_credits: 3_200n, recent_daily_credits: 12_900n, previous_same_point: null },
  days: {
    previous: Array.from({ length: 31 }, (_, index) => BigInt(index + 1) * 3_226n),
    current: [3_000n, null, 9_000n, 180_000n],
  },
};

test('the chart has a row of cells for each month, each bar as high as its day', () => {
  const cells =
    chartCells(buildNotification(jumpFacts({ evidence: { ...NO_EVIDENCE, daily_usage: DAILY_USAGE } }))) ?? '';
  for (const label of ['January, credits a day', 'February, credits a day', 'the highest bar is 171,000']) {
    expect(cells).toContain(label);
  }
  expect(cells.match(/<td style/g)).toHaveLength(2 * 31);
  expect(cells.match(/background:#999/g)).toHaveLength(31);
  expect([...cells.matchAll(/height:(\d+)px;background:#06c/g)].map(([, height]) => height)).toEqual(['1', '60']);
  expect(chartCells(buildNotification(jumpFacts()))).toBeNull();
});

test('a mail has the chart in its HTML, bars in its text, and the commands to type next in both', () => {
  const payload = renderPayload(
    buildNotification(jumpFacts({ evidence: { ...NO_EVIDENCE, daily_usage: DAILY_USAGE } })),
  );
  const view = messageView(payload);
  if (view === null) throw new Error('the payload cannot be read');
  const { text, html } = emailText(view);
  expect(html).not.toContain('<svg');
  expect(html).toContain('background:#06c');
  expect(text).toContain('2026-02  ▁··█');
  for (const part of [text, html.replaceAll('&quot;', '"')]) {
    expect(part).toContain('usage-ledger alerts ack alert_1 --note "..."');
  }
});

test.each([
  ['used 180,000 credits; January was 100,000. Limit: 150,000.', 'used 180,000 credits; January was 100,000'],
  [
    'will probably pass its limit: forecast 180,000 to 190,000, and so it went on for very long',
    'will probably pass its limit',
  ],
  [
    'has a name so long that no clause ends within what most mail programs show of a subject',
    'has a name so long that no clause ends within what …',
  ],
])('the subject of a mail has at most 90 characters and ends behind a clause or a word: %s', (words, end) => {
  const summary = `ws-1 of Gesellschaft: acme ${words}`;
  const view = messageView(renderPayload({ ...buildNotification(jumpFacts()), summary }));
  if (view === null) throw new Error('the payload has no view');
  const { subject } = emailText(view);
  expect(subject.length).toBeLessThanOrEqual(90);
  expect(subject).toBe(`[critical] ws-1 of Gesellschaft: acme ${end}`);
});
