import type { ServerResponse } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { createTeamsChannel } from '../../../src/alerts/channels/teams-channel.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/notify/notification.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { HOSTILE_NAMES } from './hostile.ts';
import { startReceiver } from './receiver.ts';
import { jumpFacts } from './sample.ts';

/** Teams takes so much, as documented. */
const LARGEST_BYTES = 28 * 1024;

interface Run {
  type: string;
  text: string;
  color?: string;
}
interface Card {
  type: string;
  version: string;
  body: { type: string; inlines: Run[] }[];
  actions: { type: string; url: string }[];
}

const payloadOf = (changes: Parameters<typeof jumpFacts>[0]) => renderPayload(buildNotification(jumpFacts(changes)));

/** The card that a workflow was given, as one that knows only what is documented of Adaptive Cards takes it. */
async function cardOf(payload: string, status = 202) {
  const receiver = await startReceiver((response: ServerResponse) => {
    const { body } = receiver.received.at(-1) ?? { body: Buffer.alloc(0) };
    response.statusCode = body.length > LARGEST_BYTES ? 413 : status;
    response.end();
  });
  onTestFinished(receiver.close);
  const config = { name: 'teams', url: receiver.url, allowPrivate: true, timeoutMs: 5000 };
  const channel = createTeamsChannel(config, { clock: systemClock });
  const message = { notificationId: 'msg_9', payload, attempt: 1 };
  const result = await channel.deliver(message, { signal: new AbortController().signal });
  const sent = JSON.parse(String(receiver.received[0]?.body ?? 'null'));
  const card = sent?.attachments[0].content as Card;
  const lines = card?.body.map(({ inlines }) => inlines.map(({ text }) => text).join('')) ?? [];
  return { result, sent, card, lines };
}

it('shows summary, figures, commands, id and a link in a card', async () => {
  const { result, sent, card, lines } = await cardOf(payloadOf({ public_url: 'https://ledger.example.com' }));
  expect(result).toEqual({ outcome: 'delivered', detail: 'HTTP 202' });
  expect(sent).toMatchObject({
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null }],
  });
  expect(card).toMatchObject({ type: 'AdaptiveCard', version: '1.4' });
  expect(card.body[0]?.inlines[0]).toMatchObject({ text: 'usage-ledger: critical', color: 'Attention' });
  expect(lines[1]).toContain('acme used 180,000');
  expect(lines).toContain('Limit: 150,000 credits');
  expect(lines.at(-1)).toBe('msg_9');
  expect(lines.join('\n')).toContain('Next:\nusage-ledger alerts');
  expect(card.actions).toMatchObject([{ type: 'Action.OpenUrl', url: expect.stringContaining('ledger.example.com') }]);
});

it('has nothing in it that is active, and stays within the limit, whatever names are like', async () => {
  for (const tenant_name of [...HOSTILE_NAMES, 'x'.repeat(40_000), '\u{1f980}'.repeat(9_000)]) {
    const { result, card } = await cardOf(payloadOf({ tenant_name }));
    expect(result.outcome).toBe('delivered');
    expect(card.body.every(({ type }) => type === 'RichTextBlock')).toBe(true);
    expect(card.body.flatMap(({ inlines }) => inlines).every(({ type }) => type === 'TextRun')).toBe(true);
    expect(card.actions).toEqual([]);
  }
});

it('shows the largest of a group, counts the rest, and says what has ended', async () => {
  const alerts = Array.from({ length: 100 }, (_, index) =>
    JSON.parse(payloadOf({ alert_id: `alert_${index}`, tenant_id: `${index}${'\u{1f980}'.repeat(300)}` })),
  );
  const { result, lines } = await cardOf(JSON.stringify({ type: 'alert.group', summary: '100 tenants', alerts }));
  expect(result.outcome).toBe('delivered');
  const shown = lines.filter((line) => line.includes(': 180,000 credits, 100,000 before (+80,000), alert_')).length;
  expect(shown).toBeGreaterThan(30);
  expect(lines).toContain(`and ${100 - shown} more: see \`usage-ledger alerts list --all\``);
  const ended = { type: 'alert.resolved', event: 'closed', state: 'resolved', closed_because: 'gone' } as const;
  expect((await cardOf(payloadOf(ended))).card.body[0]?.inlines[0]).toMatchObject({
    ...{ text: 'usage-ledger: resolved', color: 'Good' },
  });
});
