import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { expect, test } from 'vitest';
import { DailyChart } from '../../../src/alerts/channels/email-html.tsx';
import { createEmailText } from '../../../src/alerts/channels/email-text.ts';
import { readMessage } from '../../../src/alerts/channels/read-message.ts';
import type { Notification } from '../../../src/alerts/messages/facts/facts.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import { jumpFacts, NO_EVIDENCE } from './sample.ts';

const DAILY_USAGE = {
  ...{ since: '2026-02-09', usual_daily_credits: 3_200n, recent_daily_credits: 12_900n, previous_same_point: null },
  days: {
    previous: Array.from({ length: 31 }, (_, index) => BigInt(index + 1) * 3_226n),
    current: [3_000n, null, 9_000n, 180_000n],
  },
};

function chartOf(alert: Notification): string {
  return renderToString(h(DailyChart, { alert }));
}

test('the chart has a row of cells for each month, each bar as high as its day', () => {
  const cells = chartOf(buildNotification(jumpFacts({ evidence: { ...NO_EVIDENCE, daily_usage: DAILY_USAGE } })));
  for (const label of ['January, credits a day', 'February, credits a day', 'the highest bar is 171,000']) {
    expect(cells).toContain(label);
  }
  expect(cells.match(/<td style/g)).toHaveLength(2 * 31);
  expect(cells.match(/class="before"/g)).toHaveLength(31);
  expect([...cells.matchAll(/class="now" style="height:(\d+)px/g)].map(([, height]) => height)).toEqual(['1', '60']);
  expect(chartOf(buildNotification(jumpFacts()))).toBe('');
});

test('a mail has the chart in its HTML, bars in its text, and the commands to type next in both', () => {
  const payload = renderPayload(
    buildNotification(jumpFacts({ evidence: { ...NO_EVIDENCE, daily_usage: DAILY_USAGE } })),
  );
  const view = readMessage(payload);
  if (view === null) throw new Error('the payload cannot be read');
  const { text, html } = createEmailText(view);
  expect(html).not.toContain('<svg');
  expect(html).toContain('class="now"');
  expect(text).toContain('2026-02  ▁··█');
  expect(text).toMatch(/^Credits a day, up to [\d,]+; · unknown:$/m);
  for (const part of [text, html]) expect(part).toContain('usage-ledger alerts explain alert_1');
});

test('a mail leaves out a month whose days were not read', () => {
  const days = { ...DAILY_USAGE.days, previous: DAILY_USAGE.days.previous.map(() => null) };
  const facts = jumpFacts({ evidence: { ...NO_EVIDENCE, daily_usage: { ...DAILY_USAGE, days } } });
  expect(chartOf(buildNotification(facts))).not.toContain('January');
  const view = readMessage(renderPayload(buildNotification(facts)));
  if (view === null) throw new Error('the payload cannot be read');
  const { text } = createEmailText(view);
  expect(text).not.toContain('2026-01');
  expect(text).toContain('2026-02  ▁··█');
});

test.each([
  ['180,000 credits in February, limit 150,000', '180,000 credits in February, limit 150,000'],
  [
    'probably the new id of another tenant with a very long name, 12,345 credits in February',
    'probably the new id of another tenant with a very long name',
  ],
  [
    'has a name so long that no clause ends within what most mail programs show of a subject of one line',
    'has a name so long that no clause ends within what most mail programs show of …',
  ],
])('the subject of a mail has at most 120 characters and ends behind a clause or a word: %s', (words, end) => {
  const title = `acme (ws-1 of Gesellschaft): ${words}`;
  const message = readMessage(renderPayload({ ...buildNotification(jumpFacts()), title }));
  if (message === null) throw new Error('the payload cannot be read');
  const { subject } = createEmailText(message);
  expect(subject.length).toBeLessThanOrEqual(120);
  expect(subject).toBe(`[critical] acme (ws-1 of Gesellschaft): ${end}`);
});
