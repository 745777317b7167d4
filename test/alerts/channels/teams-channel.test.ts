import type { ServerResponse } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { createTeamsChannel } from '../../../src/alerts/channels/teams-channel.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { HOSTILE_NAMES } from './hostile.ts';
import { startReceiver } from './receiver.ts';
import { jumpFacts } from './sample.ts';
import { LARGEST_TEAMS_BYTES, teamsFaults } from './vendor-rules.ts';

// cspell:ignore msgapi tcid

interface Run {
  type: string;
  text: string;
  color?: string;
}
interface Card {
  type: string;
  version: string;
  body: { type: string; style?: string; inlines?: Run[]; items?: { inlines: Run[] }[] }[];
  actions: { type: string; url: string }[];
}

const payloadOf = (changes: Parameters<typeof jumpFacts>[0]) => renderPayload(buildNotification(jumpFacts(changes)));

/** The card that a workflow was given, as one that knows only what is documented of Adaptive Cards takes it. */
async function cardOf(payload: string, status = 202, answer = '') {
  const receiver = await startReceiver((response: ServerResponse) => {
    const { body } = receiver.received.at(-1) ?? { body: Buffer.alloc(0) };
    response.statusCode = body.length > LARGEST_TEAMS_BYTES ? 413 : status;
    response.end(answer);
  });
  onTestFinished(receiver.close);
  const config = { name: 'teams', url: receiver.url, allowPrivate: true, timeoutMs: 5000 };
  const channel = createTeamsChannel(config, { clock: systemClock });
  const message = { notificationId: 'msg_9', payload, attempt: 1 };
  const result = await channel.deliver(message, { signal: new AbortController().signal });
  const sent = JSON.parse(String(receiver.received[0]?.body ?? 'null'));
  const card = sent?.attachments[0].content as Card;
  const runs = (card?.body ?? []).flatMap(
    ({ inlines, items = [] }) => inlines ?? items.flatMap((item) => item.inlines),
  );
  const lines = runs.map(({ text }) => text);
  return { result, sent, card, lines };
}

it('shows the title in the colour of its kind, the lines, the command and the links in a card', async () => {
  const links = { public_url: 'https://ledger.example.com', acknowledge_link: 'https://ledger.example.com/a' };
  const { result, sent, card, lines } = await cardOf(payloadOf({ ...links, event: 'grown' }));
  expect(result).toEqual({ outcome: 'delivered', detail: 'HTTP 202' });
  expect(teamsFaults(sent)).toEqual([]);
  expect(card.body[0]).toMatchObject({ type: 'Container', style: 'attention' });
  expect(lines).toEqual([
    'acme (ws-123): 180,000 credits in February, limit 150,000',
    'Grown since the last message. January: 100,000.',
    'More requests.',
    'critical, grown',
    'usage-ledger alerts explain alert_1',
  ]);
  expect(card.actions).toMatchObject([
    { type: 'Action.OpenUrl', title: 'Acknowledge', url: 'https://ledger.example.com/a' },
    { type: 'Action.OpenUrl', title: 'Open alert', url: expect.stringContaining('ledger.example.com') },
  ]);
});

it('has nothing in it that is active, and stays within the limit, whatever names are like', async () => {
  for (const tenant_name of [...HOSTILE_NAMES, 'x'.repeat(40_000), '\u{1f980}'.repeat(9_000)]) {
    const { result, sent, card } = await cardOf(payloadOf({ tenant_name }));
    expect(result.outcome).toBe('delivered');
    expect(teamsFaults(sent)).toEqual([]);
    expect(card.actions).toEqual([]);
  }
});

it('shows the largest of a group, counts the rest, and says what has ended', async () => {
  const alerts = Array.from({ length: 100 }, (_, index) =>
    JSON.parse(payloadOf({ alert_id: `alert_${index}`, tenant_id: `${index}${'\u{1f980}'.repeat(300)}` })),
  );
  const { result, lines } = await cardOf(JSON.stringify({ type: 'alert.group', title: '100 tenants', alerts }));
  expect(result.outcome).toBe('delivered');
  expect(lines.filter((line) => line.includes(' 180,000 (January 100,000)'))).toHaveLength(10);
  expect(lines).toContain('and 90 more: see `usage-ledger alerts list --all`');
  const ended = { type: 'alert.resolved', event: 'closed', state: 'resolved', closed_because: 'gone' } as const;
  expect((await cardOf(payloadOf(ended))).card.body[0]).toMatchObject({ style: 'good' });
});

it('shows as many alerts of a daily summary as there is room for', async () => {
  const alerts = Array.from({ length: 100 }, (_, index) => ({
    ...JSON.parse(payloadOf({ alert_id: `alert_${index}`, tenant_id: `${index}${'\u{1f980}'.repeat(70)}` })),
    notifications: [],
  }));
  const { sent, lines } = await cardOf(JSON.stringify({ type: 'alert.digest', title: 'Daily summary', alerts }));
  expect(teamsFaults(sent)).toEqual([]);
  const shown = lines.filter((line) => line.includes(': 180,000 credits in February, limit 150,000')).length;
  expect(shown).toBeGreaterThan(20);
  expect(lines).toContain(`and ${100 - shown} more: see \`usage-ledger alerts list --all\``);
});

it('cuts texts that are longer than a card', async () => {
  const { sent } = await cardOf(JSON.stringify({ title: '\u{1f980}'.repeat(9_000), lines: ['"'.repeat(20_000)] }));
  expect(teamsFaults(sent)).toEqual([]);
});

it('stays below the limit with the longest ids, commands and addresses that there can be', async () => {
  const long = '\u{4e16}'.repeat(500);
  const ids = { tenant_id: long, workspace_id: long, alert_id: long, tenant_name: '"'.repeat(2_000) };
  const { result, sent, card } = await cardOf(
    payloadOf({ ...ids, public_url: `https://${'a'.repeat(60)}.example.com` }),
  );
  expect(result.outcome).toBe('delivered');
  expect(teamsFaults(sent)).toEqual([]);
  expect(card.body.length).toBeGreaterThan(3);
});

/** Texts of Teams as its documentation's issues quote them; `1` is the documented success of a connector. */
const TEAMS = 'Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error';
it.each<[body: string, outcome: object]>([
  ['1', { outcome: 'delivered', detail: 'HTTP 200' }],
  ['', { outcome: 'delivered', detail: 'HTTP 200' }],
  ['{"status":"posted"}', { outcome: 'delivered' }],
  [`${TEAMS} 429 with ContextId tcid=0,server=msgapi-2-35,cv=secret.0..`, { outcome: 'retry', unknown: false }],
  [`${TEAMS} 400 with ContextId tcid=385,server=BL2,cv=wUm..`, { outcome: 'rejected' }],
  [`${TEAMS} 413 with ContextId tcid=622,server=DB5`, { outcome: 'too_large' }],
  [`${TEAMS} 403 with ContextId MS-CV=x.0.`, { outcome: 'rejected' }],
  [`${TEAMS} 502 with ContextId MS-CV=x.0.`, { outcome: 'retry' }],
  ['Webhook message delivery failed with error: Error contacting Microsoft Teams endpoint', { outcome: 'retry' }],
  ['Webhook message delivery failed with error: Requests are throttled', { outcome: 'retry', unknown: false }],
  ['{"error":{"code":"429","message":"Rate limit is exceeded"}}', { outcome: 'retry' }],
  ['{"error":{"code":"InvalidTemplate","message":"Unable to process"}}', { outcome: 'rejected' }],
])('an answer of 200 with the body %j is %j', async (body, outcome) => {
  const { result } = await cardOf(payloadOf({}), 200, body);
  expect(result).toMatchObject(outcome);
  // What Teams wrote is not repeated: it may quote the message.
  expect(JSON.stringify(result)).not.toMatch(/ContextId|secret|Unable to process/);
});

it('begins at most four messages in any second', async () => {
  const begun: number[] = [];
  const receiver = await startReceiver((response) => {
    begun.push(performance.now());
    response.writeHead(202).end();
  });
  onTestFinished(receiver.close);
  const config = { name: 'teams', url: receiver.url, allowPrivate: true, timeoutMs: 5000 };
  const channel = createTeamsChannel(config, { clock: systemClock });
  const message = { notificationId: 'msg_9', payload: payloadOf({}), attempt: 1 };
  const { signal } = new AbortController();
  const results = await Promise.all(Array.from({ length: 9 }, () => channel.deliver(message, { signal })));
  expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['delivered']));
  begun.sort((a, b) => a - b);
  const fifth = begun.slice(4).map((at, index) => at - (begun[index] ?? 0));
  expect(Math.min(...fifth)).toBeGreaterThan(1_000);
});

it('is cancelled while it waits for its turn', async () => {
  const receiver = await startReceiver((response) => response.writeHead(202).end());
  onTestFinished(receiver.close);
  const config = { name: 'teams', url: receiver.url, allowPrivate: true, timeoutMs: 5000 };
  const channel = createTeamsChannel(config, { clock: systemClock });
  const message = { notificationId: 'msg_9', payload: payloadOf({}), attempt: 1 };
  const controller = new AbortController();
  const results = [1, 2].map(() => channel.deliver(message, { signal: controller.signal }));
  await results[0];
  controller.abort();
  expect(await results[1]).toEqual({ outcome: 'cancelled' });
  expect(receiver.received).toHaveLength(1);
});
