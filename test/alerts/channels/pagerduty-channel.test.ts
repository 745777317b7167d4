import type { ServerResponse } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { createPagerdutyChannel } from '../../../src/alerts/channels/pagerduty-channel.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import { testPayload } from '../../../src/alerts/messages/test-message.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { HOSTILE_NAMES } from './hostile.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { jumpFacts } from './sample.ts';
import { pagerdutyFaults } from './vendor-rules.ts';

const KEY = 'r'.repeat(32);

interface Event {
  routing_key: string;
  event_action: string;
  dedup_key: string;
  payload?: { summary: string; source: string; severity: string; custom_details: Record<string, string> };
  links?: { href: string; text: string }[];
}

const eventsAt = (receiver: Receiver) => receiver.received.map(({ body }) => JSON.parse(String(body)) as Event);
const payloadOf = (changes: Parameters<typeof jumpFacts>[0]) => renderPayload(buildNotification(jumpFacts(changes)));

async function start(answer: (count: number) => number = () => 202) {
  const receiver = await startReceiver((response: ServerResponse) => {
    const body = receiver.received.at(-1)?.body ?? Buffer.from('{}');
    const [fault = null] = pagerdutyFaults(JSON.parse(String(body)));
    response.statusCode = fault === null ? answer(receiver.received.length) : 400;
    if (response.statusCode === 429) response.setHeader('Retry-After', '7');
    response.end(JSON.stringify({ status: fault ?? 'success' }));
  });
  onTestFinished(receiver.close);
  const config = { name: 'pager', url: receiver.url, routingKey: KEY, allowPrivate: true, timeoutMs: 5000 };
  const channel = createPagerdutyChannel(config, { clock: systemClock });
  const deliver = (payload: string, notificationId = 'msg_9') =>
    channel.deliver({ notificationId, payload, attempt: 1 }, { signal: new AbortController().signal });
  return { receiver, deliver };
}

it('triggers under the id of the alert, with figures, commands and a link, and resolves it', async () => {
  const { receiver, deliver } = await start();
  expect(await deliver(payloadOf({ public_url: 'https://ledger.example.com' }))).toEqual({
    outcome: 'delivered',
    detail: 'HTTP 202',
  });
  await deliver(payloadOf({ state: 'acknowledged' }));
  await deliver(payloadOf({ type: 'alert.resolved', event: 'closed', state: 'resolved', closed_because: 'gone' }));
  const [begins, known, ends] = eventsAt(receiver);
  expect(begins).toMatchObject({
    ...{ routing_key: KEY, event_action: 'trigger', dedup_key: 'alert_1' },
    payload: {
      ...{ severity: 'critical', source: 'ws-123', class: 'jump', group: 'ws-123' },
      summary: 'acme (ws-123): 180,000 credits in February, limit 150,000',
      timestamp: '2026-02-20T12:00:00.000Z',
      custom_details: {
        Message: 'January: 100,000.\nMore requests.',
        Limit: '150,000 credits',
        Next: 'usage-ledger alerts explain alert_1',
      },
    },
    links: [{ href: expect.stringContaining('https://ledger.example.com/'), text: 'Open alert' }],
  });
  expect(known).toEqual({ routing_key: KEY, event_action: 'acknowledge', dedup_key: 'alert_1' });
  expect(ends).toEqual({ routing_key: KEY, event_action: 'resolve', dedup_key: 'alert_1' });
});

it('makes of a group an event for each alert, and goes on where it was refused', async () => {
  let refuses = true;
  const { receiver, deliver } = await start((count) => (refuses && count === 3 ? 429 : 202));
  const alerts = ['alert_1', 'alert_2', 'alert_3', 'alert_4'].map((alert_id, index) =>
    JSON.parse(payloadOf({ alert_id, state: index === 1 ? 'resolved' : 'firing', severity: 'warning' })),
  );
  const group = JSON.stringify({ type: 'alert.group', summary: '4 tenants', alerts });
  expect(await deliver(group)).toEqual({ outcome: 'retry', reason: 'HTTP 429', retryAfterMs: 7000, unknown: true });
  refuses = false;
  expect((await deliver(group)).outcome).toBe('delivered');
  expect(eventsAt(receiver).map(({ event_action, dedup_key }) => `${event_action} ${dedup_key}`)).toEqual([
    'trigger alert_1',
    'resolve alert_2',
    'trigger alert_3',
    'trigger alert_3',
    'trigger alert_4',
  ]);
  expect(eventsAt(receiver)[0]?.payload?.severity).toBe('warning');
});

it('leaves nothing open that only tests the way', async () => {
  const { receiver, deliver } = await start();
  const payload = testPayload({ notificationId: 'msg_9', channel: 'pager', createdAt: '2026-02-20T12:00:00.000Z' });
  expect((await deliver(payload)).outcome).toBe('delivered');
  expect(eventsAt(receiver)).toMatchObject([
    { event_action: 'trigger', dedup_key: 'msg_9', payload: { severity: 'info' } },
    { event_action: 'resolve', dedup_key: 'msg_9' },
  ]);
});

it.each([
  [400, 'rejected'],
  [403, 'rejected'],
  [410, 'disabled'],
  [429, 'retry'],
  [500, 'retry'],
])('an answer of %i is %s', async (status, outcome) => {
  const { deliver } = await start(() => status);
  expect((await deliver(payloadOf({}))).outcome).toBe(outcome);
});

it('keeps to its limits whatever names are like, and refuses what is no notification', async () => {
  const { deliver } = await start();
  for (const tenant_name of [...HOSTILE_NAMES, 'x'.repeat(5000), '\u{1f980}'.repeat(3000)]) {
    expect((await deliver(payloadOf({ tenant_name, tenant_id: 'y'.repeat(1024) }))).outcome).toBe('delivered');
  }
  expect(await deliver('[]')).toEqual({ outcome: 'rejected', reason: 'the payload is not a JSON object' });
});
