import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { DeliveryResult } from '../../../src/alerts/channels/channel.ts';
import { createSlackChannel } from '../../../src/alerts/channels/slack-channel.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { ACTIVE, HOSTILE_NAMES } from './hostile.ts';
import { startReceiver } from './receiver.ts';
import { jumpFacts } from './sample.ts';
import { slackFaults } from './vendor-rules.ts';

interface PlainText {
  type: string;
  text: string;
  emoji: boolean;
}
interface Block {
  type: string;
  text?: PlainText;
  fields?: PlainText[];
  elements?: PlainText[];
}
interface SlackBody {
  text: string;
  blocks: Block[];
  attachments: { color: string; blocks: Block[] }[];
  [setting: string]: unknown;
}

async function deliver(
  payload: string,
  answer = (response: ServerResponse) => void response.end('ok'),
): Promise<{ result: DeliveryResult; bodies: SlackBody[] }> {
  const receiver = await startReceiver(answer);
  onTestFinished(receiver.close);
  const config = { name: 'slack', url: receiver.url, allowPrivate: true, timeoutMs: 5000 };
  const channel = createSlackChannel(config, { clock: clockThat(() => 0) });
  const message = { notificationId: 'msg_9', payload, attempt: 1 };
  const result = await channel.deliver(message, { signal: new AbortController().signal });
  return { result, bodies: receiver.received.map(({ body }) => JSON.parse(body.toString()) as SlackBody) };
}

const payloadOf = (changes: Parameters<typeof jumpFacts>[0]) => renderPayload(buildNotification(jumpFacts(changes)));

async function bodyOf(payload: string): Promise<SlackBody> {
  const { result, bodies } = await deliver(payload);
  expect(result).toEqual({ outcome: 'delivered', detail: 'HTTP 200' });
  return bodies[0] as SlackBody;
}

/** Every text object of the message. */
function textsOf({ blocks, attachments }: SlackBody): PlainText[] {
  const all = [...blocks, ...attachments.flatMap((attachment) => attachment.blocks)];
  return all.flatMap(({ type, text, elements = [] }) => [
    ...(text === undefined ? [] : [text]),
    ...(type === 'actions' ? elements.map((element) => element.text as unknown as PlainText) : elements),
  ]);
}

const LONG_ID = `Ω-${'0123456789'.repeat(50)}`.slice(0, 500);
/** What people may have imported as the name of a tenant. */
const IMPORTED_NAMES = [
  `Æøå ${'Gesellschaft '.repeat(24)}`.slice(0, 300),
  '\u{1f980}'.repeat(100),
  '\u{1f469}\u200d\u{1f680} two\nlines\r\nand \u{1f1e9}\u{1f1ea}',
  ...HOSTILE_NAMES,
];

describe('a message for Slack', () => {
  it('has its title as a header, its lines and buttons beside a coloured bar, and the command below', async () => {
    const links = { public_url: 'https://ledger.example.com', acknowledge_link: 'https://ledger.example.com/a' };
    const body = await bodyOf(payloadOf({ ...links, event: 'grown' }));
    expect(body.text).toBe('critical, grown: acme (ws-123): 180,000 credits in February, limit 150,000');
    expect(body.blocks).toMatchObject([
      { type: 'header', text: { text: 'acme (ws-123): 180,000 credits in February, limit 150,000' } },
    ]);
    expect(body.attachments).toMatchObject([
      {
        color: '#b00020',
        blocks: [
          { type: 'section', text: { text: 'Grown since the last message. January: 100,000.\nMore requests.' } },
          {
            type: 'actions',
            elements: [
              { type: 'button', text: { text: 'Acknowledge' }, style: 'primary', url: 'https://ledger.example.com/a' },
              { type: 'button', text: { text: 'Open alert' } },
            ],
          },
          {
            type: 'context',
            elements: [{ text: 'critical, grown' }, { text: 'usage-ledger alerts explain alert_1' }],
          },
        ],
      },
    ]);
  });

  it('is marked as closed or as a warning when it is that', async () => {
    const closed = { type: 'alert.resolved', state: 'resolved', event: 'closed', closed_because: 'gone' } as const;
    const colourOf = ({ attachments }: SlackBody) => attachments[0]?.color;
    const [ended, warning] = [await bodyOf(payloadOf(closed)), await bodyOf(payloadOf({ severity: 'warning' }))];
    expect(ended.text).toMatch(/^closed: /);
    expect(warning.text).toMatch(/^warning: /);
    expect([colourOf(ended), colourOf(warning)]).toEqual(['#1b7f37', '#d18700']);
  });

  it('has the whole title below a header that is too long for it', async () => {
    const body = await bodyOf(payloadOf({ tenant_id: 'x'.repeat(80), workspace_id: 'y'.repeat(80) }));
    const [header, title] = textsOf(body).map(({ text }) => text);
    expect(header).toHaveLength(150);
    expect(title).toMatch(/limit 150,000$/);
  });

  it('has no button with an address that is longer than Slack takes', async () => {
    const hasButton = async (workspaceId: string) => {
      const { attachments } = await bodyOf(
        payloadOf({ workspace_id: workspaceId, public_url: 'https://usage.example.com' }),
      );
      return attachments.some(({ blocks }) => blocks.some(({ type }) => type === 'actions'));
    };
    expect(await hasButton('ws-1')).toBe(true);
    expect(await hasButton('Ω'.repeat(480))).toBe(true);
    expect(await hasButton('Ω'.repeat(500))).toBe(false);
  });

  it('switches off everything that would make names act', async () => {
    expect(await bodyOf(payloadOf({}))).toMatchObject({
      mrkdwn: false,
      parse: 'none',
      link_names: false,
      unfurl_links: false,
      unfurl_media: false,
    });
  });

  it.each(HOSTILE_NAMES)('shows the tenant %j without letting it act', async (tenantId) => {
    const body = await bodyOf(payloadOf({ tenant_id: tenantId, workspace_id: tenantId }));
    const texts = textsOf(body);
    expect(texts.every(({ type, emoji }) => type === 'plain_text' && emoji === false)).toBe(true);
    for (const text of [body.text, ...texts.map((object) => object.text)]) {
      expect(text).not.toMatch(/[<>]/);
      expect(text.replace(/&(amp|lt|gt);/g, '')).not.toContain('&');
      expect(text).not.toMatch(ACTIVE);
      expect(text).not.toMatch(/:\/\/|www\.|mailto:/);
    }
  });

  it.each(IMPORTED_NAMES)(
    'shows the imported name %j and ids of 500 characters without letting them act',
    async (name) => {
      const body = await bodyOf(payloadOf({ tenant_id: LONG_ID, workspace_id: LONG_ID, tenant_name: name }));
      const texts = textsOf(body).map(({ text }) => text);
      for (const text of [body.text, ...texts]) {
        expect(text).not.toMatch(/[<>]/);
        expect(text.replace(/&(amp|lt|gt);/g, '')).not.toContain('&');
        expect(text).not.toMatch(ACTIVE);
        expect(text).not.toMatch(/:\/\/|www\.|mailto:/);
        expect(text.length).toBeLessThan(2000);
      }
      // The title cuts what is long; the JSON has it whole.
      expect(body.text).toContain(`"${LONG_ID.slice(0, 80)}…" (`);
      expect(texts).toContain('usage-ledger alerts explain alert_1');
    },
  );

  it('stays within the limits of Slack, whatever a notification has', async () => {
    const lines = Array.from({ length: 3 }, () => '<&>'.repeat(2000));
    const body = await bodyOf(JSON.stringify({ title: '&'.repeat(9000), lines }));
    expect(slackFaults(body)).toEqual([]);
    expect(slackFaults(await bodyOf(JSON.stringify({ summary: 'x'.repeat(9000) })))).toEqual([]);
  });
});

describe('the answer of Slack', () => {
  it.each([
    [404, 'retry'],
    [403, 'rejected'],
    [410, 'disabled'],
    [429, 'retry'],
    [500, 'retry'],
  ])('%i is %s', async (status, outcome) => {
    expect((await deliver(payloadOf({}), (response) => void response.writeHead(status).end())).result).toMatchObject({
      outcome,
    });
  });

  /** Error strings as Slack documents them for incoming webhooks, and `ok` of the Web API. */
  it.each<[body: string, outcome: object]>([
    ['ok', { outcome: 'delivered', detail: 'HTTP 200' }],
    ['ok\n', { outcome: 'delivered' }],
    ['{"ok":true,"ts":"1503435956.000247"}', { outcome: 'delivered' }],
    ['', { outcome: 'retry', unknown: true }],
    ['<html>Please log in</html>', { outcome: 'retry', unknown: true, reason: expect.stringContaining('proxy') }],
    ['invalid_payload', { outcome: 'rejected', reason: 'HTTP 200, but Slack reports invalid_payload' }],
    ['channel_is_archived', { outcome: 'retry', isDenial: true, reason: expect.stringContaining('unarchive') }],
    ['action_prohibited', { outcome: 'retry', isDenial: true, reason: expect.stringContaining('administrator') }],
    ['rollup_error', { outcome: 'retry', unknown: false }],
    ['{"ok":false,"error":"ratelimited"}', { outcome: 'retry', unknown: false }],
    ['{"ok":false,"error":"not_in_channel"}', { outcome: 'retry', isDenial: true }],
    ['{"ok":false,"error":"invalid_blocks"}', { outcome: 'rejected' }],
    ['{"ok":false}', { outcome: 'retry', unknown: true }],
    ['"ok"', { outcome: 'retry', unknown: true }],
  ])('200 with the body %j is %j', async (body, outcome) => {
    expect((await deliver(payloadOf({}), (response) => void response.end(body))).result).toMatchObject(outcome);
  });

  it('is not waited for when the stored text is no notification', async () => {
    expect(await deliver('[1]')).toEqual({
      result: { outcome: 'rejected', reason: 'the payload is not a JSON object' },
      bodies: [],
    });
  });
});
