import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { DeliveryResult } from '../../../src/alerts/channels/channel.ts';
import { createSlackChannel } from '../../../src/alerts/channels/slack-channel.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { ACTIVE, HOSTILE_NAMES } from './hostile.ts';
import { startReceiver } from './receiver.ts';
import { jumpFacts } from './sample.ts';

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
function textsOf({ blocks }: SlackBody): PlainText[] {
  return blocks.flatMap(({ text, fields = [], elements = [] }) => [
    ...(text === undefined ? [] : [text]),
    ...fields,
    ...elements,
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

/** The text as Slack shows it. */
function asRead(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

describe('a message for Slack', () => {
  it('shows the summary, every figure and the id', async () => {
    const body = await bodyOf(payloadOf({}));
    expect(body.text).toContain('critical: acme (ws-123): 180,000 credits');
    const texts = textsOf(body).map(({ text }) => text);
    expect(texts[0]).toBe('usage-ledger: critical');
    expect(texts).toContain('Credits\n180,000 so far in 2026-02, 100,000 in 2026-01 (+80,000, +80%)');
    expect(texts).toContain('Requests\n1,800 so far in 2026-02, 1,000 in 2026-01 (+800)');
    expect(texts).toContain('Limit\n150,000 credits');
    expect(texts).toContain('Alert\nalert_1');
    expect(texts.at(-2)).toMatch(/^Next:\nusage-ledger alerts ack alert_1 /);
    expect(texts.at(-1)).toBe('msg_9');
  });

  it('is marked as resolved or as a warning when it is that', async () => {
    expect((await bodyOf(payloadOf({ type: 'alert.resolved', state: 'resolved' }))).text).toMatch(/^resolved: /);
    expect((await bodyOf(payloadOf({ severity: 'warning' }))).text).toMatch(/^warning: /);
  });

  it('has no button with an address that is longer than Slack takes', async () => {
    const hasButton = async (workspaceId: string) => {
      const { blocks } = await bodyOf(
        payloadOf({ workspace_id: workspaceId, public_url: 'https://usage.example.com' }),
      );
      return blocks.some((block) => (block as { type?: string }).type === 'actions');
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
    expect(texts.some(({ text }) => text.startsWith('Tenant\n'))).toBe(true);
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
      // The sentence cuts what is long, and the fields have it whole.
      const cut = `"${LONG_ID.slice(0, 80)}…" (`;
      expect(body.text).toContain(cut);
      expect(texts[1]).toContain(cut);
      expect(texts).toContain(`Tenant\n${LONG_ID}`);
      expect(texts).toContain(`Workspace\n${LONG_ID}`);
      expect(Array.from(asRead(texts.find((text) => text.startsWith('Name\n')) ?? '')).length).toBeGreaterThanOrEqual(
        Array.from(name).length,
      );
      expect(texts.at(-2)).toContain('usage-ledger alerts ack alert_1 ');
    },
  );

  it('stays within the limits of Slack, whatever a notification carries', async () => {
    const facts = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`fact_${index}`, '<&>'.repeat(2000)]));
    const list = { tenants: Array.from({ length: 500 }, (_, index) => `tenant-${index}`) };
    const body = await bodyOf(JSON.stringify({ summary: '&'.repeat(9000), ...list, ...facts }));
    expect(body.blocks.length).toBeLessThanOrEqual(50);
    expect(body.text.length).toBeLessThanOrEqual(3000);
    for (const { type, text, fields = [] } of body.blocks) {
      expect(text?.text.length ?? 0).toBeLessThanOrEqual(type === 'header' ? 150 : 3000);
      expect(fields.length).toBeLessThanOrEqual(10);
      for (const field of fields) expect(field.text.length).toBeLessThanOrEqual(2000);
    }
    for (const { text } of textsOf(body)) expect(text).toMatch(/^([^&]|&(amp|lt|gt);)+$/u);
    expect(textsOf(body).map(({ text }) => text)).toContainEqual(expect.stringMatching(/tenant-9 and 490 more$/));
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
    ['invalid_payload', { outcome: 'rejected', reason: 'HTTP 200, and Slack reports invalid_payload' }],
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
