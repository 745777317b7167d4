import { describe, expect, it, onTestFinished } from 'vitest';
import type { Channel } from '../../../src/alerts/channels/channel.ts';
import { createEmailText } from '../../../src/alerts/channels/email-text.ts';
import { createLogChannel } from '../../../src/alerts/channels/log-channel.ts';
import { readMessage } from '../../../src/alerts/channels/read-message.ts';
import { createSlackChannel } from '../../../src/alerts/channels/slack-channel.ts';
import { dailySummaries } from '../../../src/alerts/messages/digest.ts';
import { MAX_BYTES, type MadeMessage, type Rendered } from '../../../src/alerts/messages/message-parts.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { payloadFaults } from '../../support/payload-schema.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { ACTIVE, HOSTILE_NAMES } from '../channels/hostile.ts';
import { startReceiver } from '../channels/receiver.ts';
import { jumpFacts } from '../channels/sample.ts';

type Summary = MadeMessage<Rendered>;
type Facts = NonNullable<Parameters<typeof jumpFacts>[0]>;

const HEAD = { seq: 12, digest: 'ab'.repeat(32) };
const WHEN = {
  ...{ channel: 'finance', timezone: 'UTC' },
  dueAt: '2026-02-21T07:00:00.000Z',
  at: '2026-02-21T07:00:12.000Z',
  head: HEAD,
  mostBytes: MAX_BYTES,
};
const DROP = { rule: 'drop', severity: 'warning', level: 'settled' } as const;
const RESOLVED = {
  ...({ type: 'alert.resolved', event: 'closed', state: 'resolved', closed_because: 'gone' } as const),
  created_at: '2026-02-21T02:30:00.000Z',
};

let ids = 0;
function held(alertId: string, facts: Facts = {}): Rendered {
  ids += 1;
  const notificationId = `msg_${ids}`;
  const input = jumpFacts({
    severity: 'warning',
    level: 'likely',
    ...facts,
    alert_id: alertId,
    notification_id: notificationId,
  });
  const notification = buildNotification(input);
  return { notification, bytes: Buffer.byteLength(renderPayload(notification)) };
}

function manyHeld(count: number, facts: Facts = {}): Rendered[] {
  return Array.from({ length: count }, (_, index) =>
    held(`alert_${index}`, { tenant_id: `tenant-${index}`, ...facts }),
  );
}

function only(digests: readonly Summary[]): Summary {
  const [digest] = digests;
  if (digest === undefined || digests.length !== 1) throw new Error(`${digests.length} digests instead of one`);
  return digest;
}

/** A digest as its receiver reads it; figures beyond 2^53 are not compared this way. */
const read = ({ payload }: Summary) => JSON.parse(payload);
const alertsOf = (digest: Summary): string[] =>
  read(digest).alerts.map(({ alert_id }: { alert_id: string }) => alert_id);

describe('a daily summary', () => {
  it('gives its time by the clock of its channel', () => {
    const summary = (timezone: string) =>
      read(only(dailySummaries([held('alert_a', DROP)], { ...WHEN, timezone }))).summary;
    expect(summary('UTC')).toBe('Daily summary of 2026-02-21 07:00 UTC: 1 alert open.');
    expect(summary('America/New_York')).toBe('Daily summary of 2026-02-21 02:00 UTC-5: 1 alert open.');
  });

  it('carries every notification whole, in an item an alert', () => {
    const first = held('alert_a', DROP);
    const digest = only(dailySummaries([first, held('alert_b', DROP)], WHEN));
    expect(payloadFaults(digest.payload)).toEqual([]);
    expect(read(digest)).toMatchObject({
      ...{ notification_id: digest.notificationId, type: 'alert.digest', severity: 'warning', channel: 'finance' },
      ...{ due_at: WHEN.dueAt, created_at: WHEN.at, part: 1, parts: 1 },
      ...{ alert_count: 2, firing_count: 2, resolved_count: 0, head: { link: 12, digest: HEAD.digest } },
      title: 'Daily summary of 2026-02-21 07:00 UTC: 2 alerts open',
      lines: [],
      summary: 'Daily summary of 2026-02-21 07:00 UTC: 2 alerts open.',
    });
    expect(read(digest).alerts[0].notifications).toEqual([JSON.parse(renderPayload(first.notification))]);
  });

  it('keeps figures beyond 2^53 and identifiers exact', () => {
    const tenantId = HOSTILE_NAMES[5];
    const one = held('alert_a', {
      tenant_id: tenantId,
      current: { credits: 9_223_372_036_854_775_807n, requests: 1n },
    });
    const { payload } = only(dailySummaries([one], WHEN));
    expect(payload).toContain(renderPayload(one.notification));
  });

  it('says of an alert that was told before only that it is resolved', () => {
    const digest = only(dailySummaries([held('alert_a', RESOLVED)], WHEN));
    expect(read(digest).alerts[0].summary).toMatch(/There is no earlier month to compare with any more|No growth/);
  });

  it('is ordered by workspace, then severity, then the size of the change', () => {
    const current = (credits: bigint) => ({ current: { credits, requests: 1n } });
    const digest = only(
      dailySummaries(
        [
          held('alert_small', current(100_001n)),
          held('alert_other', { workspace_id: 'ws-000', ...current(100_000n) }),
          held('alert_large', current(900_000n)),
          held('alert_fall', { ...DROP, ...current(1n) }),
          held('alert_closed', { ...RESOLVED, severity: 'critical', ...current(950_000n) }),
          held('alert_critical', { severity: 'critical', ...current(100_000n) }),
        ],
        WHEN,
      ),
    );
    expect(alertsOf(digest)).toEqual([
      ...['alert_other', 'alert_critical', 'alert_large', 'alert_fall', 'alert_small'],
      'alert_closed',
    ]);
  });

  it('has an id that follows from what is in it', () => {
    const some = manyHeld(3);
    const id = only(dailySummaries(some, WHEN)).notificationId;
    expect(only(dailySummaries([...some].reverse(), { ...WHEN, at: RESOLVED.created_at })).notificationId).toBe(id);
    expect(only(dailySummaries(some.slice(1), WHEN)).notificationId).not.toBe(id);
    expect(only(dailySummaries(some, { ...WHEN, channel: 'other' })).notificationId).not.toBe(id);
  });

  it('of more than 100 alerts is several, each alert in one of them', () => {
    const digests = dailySummaries(manyHeld(201), WHEN);
    expect(digests.map((digest) => alertsOf(digest).length)).toEqual([100, 100, 1]);
    expect(new Set(digests.flatMap(alertsOf)).size).toBe(201);
    expect(new Set(digests.map(({ notificationId }) => notificationId)).size).toBe(3);
    expect(read(digests[2] as Summary)).toMatchObject({
      ...{ part: 3, parts: 3, alert_count: 1 },
      summary: 'Daily summary of 2026-02-21 07:00 UTC, part 3 of 3: 1 alert open.',
    });
    for (const { payload } of digests) expect(payloadFaults(payload)).toEqual([]);
  });

  it('of long alerts is several of at most 180,000 bytes', () => {
    const digests = dailySummaries(manyHeld(3, { workspace_id: 'w'.repeat(70_000) }), WHEN);
    expect(digests.map((digest) => alertsOf(digest).length)).toEqual([2, 1]);
  });
});

describe('a daily summary on Slack', () => {
  it('is a list with a line an alert', async () => {
    const texts = await slackTexts(only(dailySummaries([held('alert_a'), held('alert_b', RESOLVED)], WHEN)));
    expect(texts[0]).toBe('Daily summary of 2026-02-21 07:00 UTC: 1 alert open, 1 closed');
    expect(texts[1]?.split('\n')).toEqual([
      expect.stringMatching(/^warning: acme \(ws-123\): 180,000 credits in February, limit/),
      expect.stringMatching(/^closed: acme \(ws-123\): February jump closed/),
    ]);
    expect(texts).toHaveLength(3);
  });

  it.each([
    ['of short names', 'x'],
    ['of names that grow when they are escaped', '&'.repeat(80)],
  ])('of 100 alerts %s stays within the limits', async (_what, tenantId) => {
    const texts = await slackTexts(
      only(dailySummaries(manyHeld(100, { tenant_id: tenantId, workspace_id: tenantId }), WHEN)),
    );
    expect(texts.length).toBeLessThanOrEqual(50);
    for (const text of texts) expect(text.length).toBeLessThanOrEqual(3000);
    const lines = texts.slice(1, -1).flatMap((text) => text.split('\n'));
    expect(lines).toHaveLength(100);
    for (const line of lines) expect(line).toMatch(/^warning: .*: 180,000 credits in February/);
  });
});

describe('a daily summary by e-mail', () => {
  it('is a list with a line an alert', () => {
    const view = readMessage(only(dailySummaries(manyHeld(90), WHEN)).payload);
    if (view === null) throw new Error('the daily summary cannot be read');
    const { subject, text, html } = createEmailText(view);
    expect(subject).toBe('[summary] Daily summary of 2026-02-21 07:00 UTC: 90 alerts open');
    expect(text.match(/^warning: tenant-\d+ \(ws-123\): 180,000/gm)).toHaveLength(90);
    expect(html.match(/<li>/g)).toHaveLength(90);
    const head = `Head of the chain: link 12, digest ${HEAD.digest}`;
    expect(text).toContain(`Sent by usage-ledger (summary)\n${head}\n`);
    expect(html).toContain(head);
  });
});

describe('a daily summary in the log', () => {
  it('is a line an alert, at the level of its own', async () => {
    const some = [held('alert_a'), held('alert_b', { severity: 'critical' })];
    const lines = await logLines(only(dailySummaries(some, WHEN)));
    expect(lines.map(({ level, alert_id }) => [alert_id, level])).toEqual([
      ['alert_b', 'error'],
      ['alert_a', 'warn'],
    ]);
    expect(lines[1]).toMatchObject({
      channel: 'log',
      daily_summary: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
      msg: expect.stringMatching(/^acme \(ws-123\): 180,000 credits/),
    });
  });
});

describe('a daily summary with a hostile name', () => {
  it.each(HOSTILE_NAMES)('%j shows it and does not let it act', async (name) => {
    const digest = only(dailySummaries([held('alert_a', { tenant_id: name, workspace_id: name })], WHEN));
    expect(digest.payload).toMatch(/^[\x20-\x7e]+$/);
    expect(payloadFaults(digest.payload)).toEqual([]);
    for (const text of await slackTexts(digest)) {
      expect(text).not.toMatch(ACTIVE);
      expect(text).not.toMatch(/[<>]|:\/\/|www\.e|mailto:x/);
    }
    const view = readMessage(digest.payload);
    if (view === null) throw new Error('the daily summary cannot be read');
    expect(view.items).toHaveLength(1);
    const { subject, text, html } = createEmailText(view);
    for (const shown of [subject, text, html]) expect(shown).not.toMatch(ACTIVE);
    expect(html).not.toMatch(/<(script|img)/);
    expect(text).not.toMatch(/:\/\/|www\.e|mailto:x/);
    const lines = await logLines(digest);
    expect(lines).toHaveLength(1);
    expect(lines[0]?.msg).not.toMatch(ACTIVE);
  });
});

/** The texts of the blocks that Slack gets, in order. */
async function slackTexts({ notificationId, payload }: Summary): Promise<string[]> {
  const receiver = await startReceiver((response) => response.end('ok'));
  onTestFinished(receiver.close);
  const config = { name: 'slack', url: receiver.url, allowPrivate: true, timeoutMs: 5000 };
  await deliver(createSlackChannel(config, { clock: clockThat(() => 0) }), notificationId, payload);
  const { blocks, attachments } = JSON.parse(String(receiver.received[0]?.body));
  return [...blocks, ...attachments[0].blocks].map(
    (block: { text?: { text: string }; elements?: { text: string }[] }) => {
      return block.text?.text ?? block.elements?.[0]?.text ?? '';
    },
  );
}

// biome-ignore lint/suspicious/noExplicitAny: an expectation on a wrong shape fails by itself
async function logLines({ notificationId, payload }: Summary): Promise<any[]> {
  const lines: string[] = [];
  const logger = createLogger({ destination: { write: (line: string) => void lines.push(line) } });
  await deliver(createLogChannel('log', logger), notificationId, payload);
  return lines.map((line) => JSON.parse(line));
}

async function deliver(channel: Channel, notificationId: string, payload: string): Promise<void> {
  const { signal } = new AbortController();
  expect(await channel.deliver({ notificationId, payload, attempt: 1 }, { signal })).toMatchObject({
    outcome: 'delivered',
  });
}
