import { describe, expect, it } from 'vitest';
import type { DeliveryResult } from '../../../src/alerts/channels/channel.ts';
import { createEmailChannel } from '../../../src/alerts/channels/email-channel.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import type { EmailConfig } from '../../../src/config/channel-types.ts';
import { ACTIVE, HOSTILE_NAMES } from './hostile.ts';
import { readMail, shownHeader, startMailServer } from './mail-server.ts';
import { jumpFacts } from './sample.ts';

const payloadOf = (changes: Parameters<typeof jumpFacts>[0]) => renderPayload(buildNotification(jumpFacts(changes)));

/** Where the name stands for this machine, which the channel cannot know: all rules for other machines hold. */
const elsewhere = { host: 'mail.example.com' };
const resolve = async () => [{ address: '127.0.0.1', family: 4 }];

interface Options extends Partial<EmailConfig> {
  port: number;
  payload?: string;
  notificationId?: string;
  signal?: AbortSignal;
}

function send({
  payload = payloadOf({}),
  notificationId = 'msg_0001',
  signal,
  ...config
}: Options): Promise<DeliveryResult> {
  const channel = createEmailChannel(
    {
      name: 'mail',
      host: '127.0.0.1',
      tls: 'starttls',
      allowInsecure: false,
      allowPrivate: true,
      timeoutMs: 5000,
      login: null,
      from: 'Usage Ledger <alerts@example.com>',
      to: ['oncall@example.com', 'finance@example.com'],
      ...config,
    },
    { resolve },
  );
  return channel.deliver({ notificationId, payload, attempt: 1 }, { signal: signal ?? new AbortController().signal });
}

describe('an e-mail', () => {
  it('is taken by a mail server, to all recipients, as text and as HTML', async () => {
    const { port, taken } = await startMailServer({ hideSTARTTLS: true });
    expect(await send({ port })).toEqual({ outcome: 'delivered', detail: 'accepted by the mail server' });

    expect(taken).toMatchObject([
      { from: 'alerts@example.com', to: ['oncall@example.com', 'finance@example.com'], secure: false },
    ]);
    const { headers, parts } = readMail(taken[0]?.raw ?? '');
    expect(headers.get('from')).toEqual(['Usage Ledger <alerts@example.com>']);
    expect(headers.get('to')).toEqual(['oncall@example.com, finance@example.com']);
    expect(shownHeader(headers.get('subject')?.[0] ?? '')).toMatch(
      /^\[critical\] acme \(ws-123\): 180,000 credits in February, limit 150,000/,
    );
    expect(headers.get('auto-submitted')).toEqual(['auto-generated']);
    // All mails about one alert are one conversation.
    for (const name of ['in-reply-to', 'references']) expect(headers.get(name)).toEqual(['<alert_1@example.com>']);
    const { title, lines } = buildNotification(jumpFacts());
    const text = (parts.get('text/plain') ?? '').replaceAll('\r\n', '\n');
    expect(text.split('\n').slice(0, 1 + lines.length)).toEqual([title, ...lines]);
    expect(text).toContain('usage-ledger alerts explain alert_1');
    expect(parts.get('text/html')).toContain(`<bdi>${title}</bdi></h1>`);
    for (const line of lines) expect(parts.get('text/html')).toContain(`<bdi>${line}</bdi></p>`);
  });

  it('has the same Message-ID on every attempt of one notification, and another for another', async () => {
    const { port, taken } = await startMailServer();
    for (const notificationId of ['msg_a', 'msg_a', 'msg_b']) await send({ port, notificationId });
    expect(taken.map(({ raw }) => readMail(raw).headers.get('message-id')?.[0])).toEqual([
      '<msg_a@example.com>',
      '<msg_a@example.com>',
      '<msg_b@example.com>',
    ]);
  });

  it.each(HOSTILE_NAMES)('shows the tenant %j without letting it act', async (tenantId) => {
    const { port, taken } = await startMailServer();
    const payload = payloadOf({ tenant_id: tenantId, workspace_id: tenantId });
    expect(await send({ port, payload })).toMatchObject({ outcome: 'delivered' });

    expect(taken[0]?.to).toEqual(['oncall@example.com', 'finance@example.com']);
    const { headers, parts } = readMail(taken[0]?.raw ?? '');
    expect([...headers.keys()].sort()).toEqual([
      'auto-submitted',
      'content-type',
      'date',
      'from',
      'in-reply-to',
      'message-id',
      'mime-version',
      'references',
      'subject',
      'to',
    ]);
    expect([...headers.values()].every((values) => values.length === 1)).toBe(true);
    expect(headers.get('subject')?.[0]).toMatch(/^[\x20-\x7e]+$/);
    expect(shownHeader(headers.get('subject')?.[0] ?? '')).not.toMatch(ACTIVE);
    const text = parts.get('text/plain') ?? '';
    const html = parts.get('text/html') ?? '';
    for (const body of [text, html].map((part) => part.replaceAll('\r\n', '\n'))) {
      expect(body).not.toMatch(ACTIVE);
      expect(body).not.toMatch(/:\/\/|www\.|mailto:/);
    }
    const tags = new Set([...html.matchAll(/<\/?([a-z!]+)/gi)].map(([, tag]) => tag));
    expect([...tags].sort()).toEqual([
      '!doctype',
      'bdi',
      'body',
      'br',
      'code',
      'h',
      'head',
      'html',
      'meta',
      'p',
      'span',
      'style',
      'table',
      'td',
      'title',
      'tr',
    ]);
    expect(html.replace(/<style>.*<\/style>|<[^>]*>/g, '')).not.toMatch(/[<"]|&(?!(amp|lt|quot);)/);
  });
});

describe('the way to the mail server', () => {
  it('is encrypted by STARTTLS and logged in to', async () => {
    const { port, taken } = await startMailServer({
      onAuth: ({ username, password }, _session, callback) =>
        password === 'p4ss' ? callback(null, { user: username }) : callback(new Error('no')),
    });
    expect(await send({ port, login: { user: 'alerts', password: 'p4ss' } })).toMatchObject({ outcome: 'delivered' });
    expect(taken).toMatchObject([{ secure: true, user: 'alerts' }]);
  });

  it('is encrypted from the first byte when the channel says so', async () => {
    const { port, taken } = await startMailServer({ secure: true });
    expect(await send({ port, tls: 'implicit' })).toMatchObject({ outcome: 'delivered' });
    expect(taken).toMatchObject([{ secure: true }]);
  });

  it('must be encrypted when the server is another machine', async () => {
    const { port, taken } = await startMailServer({ disabledCommands: ['STARTTLS'] });
    expect(await send({ port, ...elsewhere })).toMatchObject({
      outcome: 'retry',
      reason: 'no secure connection (ETLS)',
    });
    expect(taken).toEqual([]);
    expect(await send({ port, ...elsewhere, allowInsecure: true })).toMatchObject({ outcome: 'delivered' });
    expect(taken).toMatchObject([{ secure: false }]);
  });

  it.each(['starttls', 'implicit'] as const)('must have a certificate that can be verified, with %s', async (tls) => {
    const { port, taken } = await startMailServer({ secure: tls === 'implicit' });
    expect(await send({ port, tls, ...elsewhere })).toMatchObject({
      outcome: 'retry',
      reason: expect.stringMatching(/^the connection failed: .* \(DEPTH_ZERO_SELF_SIGNED_CERT\); .*ca_file/),
    });
    expect(taken).toEqual([]);
    expect(await send({ port, tls, ...elsewhere, allowInsecure: true })).toMatchObject({ outcome: 'delivered' });
    expect(taken).toMatchObject([{ secure: true }]);
  });
});

describe('the outcome of an e-mail', () => {
  /** Nobody has it, and somebody can allow it. */
  const DENIED = { outcome: 'retry', retryAfterMs: null, unknown: false, isDenial: true };
  const failing = (responseCode: number) => Object.assign(new Error('text of the server'), { responseCode });

  it('is a retry when the server says so for now', async () => {
    const { port } = await startMailServer({ onRcptTo: (_address, _session, callback) => callback(failing(451)) });
    expect(await send({ port })).toEqual({ outcome: 'retry', reason: 'SMTP 451', retryAfterMs: null, unknown: false });
  });

  it('is a retry that names sender and remedy when the server refuses the sender', async () => {
    const { port } = await startMailServer({ onMailFrom: (_address, _session, callback) => callback(failing(550)) });
    expect(await send({ port })).toEqual({
      ...DENIED,
      reason:
        'SMTP 550: the mail server refused the sender alerts@example.com; allow the login of the channel to send as that address, or correct `from`',
    });
  });

  it('is rejected when the server refuses the message itself', async () => {
    const { port, taken } = await startMailServer({
      onData: (stream, _session, callback) => void stream.resume().on('end', () => callback(failing(554))),
    });
    expect(await send({ port })).toEqual({
      outcome: 'rejected',
      reason: 'SMTP 554: the mail server refused this message; ask the operator of the mail server for its log',
    });
    expect(taken).toEqual([]);
  });

  it('is a retry that names the recipients when the server refuses all of them', async () => {
    const { port } = await startMailServer({ onRcptTo: (_address, _session, callback) => callback(failing(550)) });
    expect(await send({ port })).toMatchObject({
      ...DENIED,
      reason: expect.stringMatching(
        /^SMTP 550: the mail server refused all recipients: oncall@example\.com, finance@example\.com; .*correct `to`$/,
      ),
    });
  });

  it('is a retry that names the quota when it is used up', async () => {
    for (const [status, more] of [
      [452, {}],
      [552, { isDenial: true }],
    ] as const) {
      const { port } = await startMailServer({
        onData: (stream, _session, callback) => void stream.resume().on('end', () => callback(failing(status))),
      });
      expect(await send({ port })).toMatchObject({
        ...{ outcome: 'retry', unknown: false, ...more },
        reason: expect.stringMatching(new RegExp(`^SMTP ${status}: the mail server refused more mail.*quota`)),
      });
    }
  });

  it('is a retry when the login is refused, and the password is not told', async () => {
    const { port } = await startMailServer({
      onAuth: (auth, _session, callback) => callback(new Error(String(auth.password))),
    });
    expect(await send({ port, login: { user: 'alerts', password: 'p4ss-word' } })).toEqual({
      ...DENIED,
      reason:
        'SMTP 535: the mail server refused the login; correct `user` and `password` of the channel, or unlock the account',
    });
  });

  it('is delivered, and says whom the server refuses', async () => {
    const { port, taken } = await startMailServer({
      onRcptTo: ({ address }, _session, callback) => callback(address.startsWith('finance') ? failing(550) : undefined),
    });
    expect(await send({ port })).toEqual({
      outcome: 'delivered',
      detail: 'accepted by the mail server',
      refused:
        'the mail server refuses finance@example.com (SMTP 550); create these mailboxes or allow mail to them, or correct `to`',
    });
    expect(taken).toMatchObject([{ to: ['oncall@example.com'] }]);
  });

  it('is a retry when nobody listens', async () => {
    expect(await send({ port: 1 })).toEqual({
      outcome: 'retry',
      reason: 'the connection failed: connection refused (ECONNREFUSED); check the address, and that the server runs',
      retryAfterMs: null,
      unknown: false,
    });
  });

  it('is a retry when the server does not answer in time', async () => {
    const { port } = await startMailServer({ onMailFrom: () => undefined });
    expect(await send({ port, timeoutMs: 200 })).toEqual({
      outcome: 'retry',
      reason: 'not accepted within 200 ms',
      retryAfterMs: null,
      unknown: true,
    });
  });

  it('is cancelled by the caller, before or during the exchange', async () => {
    const controller = new AbortController();
    const { port, taken } = await startMailServer({ onMailFrom: () => controller.abort() });
    expect(await send({ port, signal: controller.signal })).toEqual({ outcome: 'cancelled' });
    expect(await send({ port, signal: controller.signal })).toEqual({ outcome: 'cancelled' });
    expect(taken).toEqual([]);
  });

  it('is rejected when the stored text is no notification, or the id would break a header', async () => {
    const { port, taken } = await startMailServer();
    expect(await send({ port, payload: 'null' })).toMatchObject({ outcome: 'rejected' });
    expect(await send({ port, notificationId: 'msg\r\nBcc: x@example.com' })).toMatchObject({ outcome: 'rejected' });
    expect(taken).toEqual([]);
  });
});
