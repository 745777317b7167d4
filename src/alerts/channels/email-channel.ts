import type { EmailConfig } from '../../config/channel-types.ts';
import { type Clock, systemClock } from '../../core/clock.ts';
import { openGuardedSocket, type Resolve } from '../../net/address-guard.ts';
import { attemptLimit } from '../../net/attempt-limit.ts';
import { connectionFault, errorCode } from '../../net/connection-faults.ts';
import { isLoopbackHost } from '../../net/local-address.ts';
import { OutboundError, UnreachableError, unreachableError } from '../../net/outbound-errors.ts';
import type { Message } from '../messages/message.ts';
import type { Channel, ChannelMessage, DeliveryResult } from './channel.ts';
import { createEmailText } from './email-text.ts';
import { toFailedDelivery } from './post-json.ts';
import { readMessage } from './read-message.ts';
import { explainSmtpRefusal, findSmtpReply, type SmtpRefusal, type SmtpReply } from './smtp-refusals.ts';

export interface EmailDeps {
  /** Resolves host names; absent: the system's resolver. */
  resolve?: Resolve | undefined;
  clock?: Clock | undefined;
}

/**
 * Sends each notification to a mail server over SMTP. The Message-ID is the notification's id, so that a mailbox can
 * detect repeats. Without TLS and a verified certificate the channel sends nothing, except to this machine or if its
 * configuration allows it.
 */
export function createEmailChannel(config: Omit<EmailConfig, 'type'>, deps: EmailDeps): Channel {
  async function deliver(
    { payload, notificationId }: ChannelMessage,
    { signal }: { signal: AbortSignal },
  ): Promise<DeliveryResult> {
    const message = readMessage(payload);
    if (message === null) return { outcome: 'rejected', reason: 'the payload is not a JSON object' };
    if (!/^[\w.-]+$/.test(notificationId)) {
      return { outcome: 'rejected', reason: 'the notification id is not valid in a Message-ID' };
    }
    const limit = attemptLimit(deps.clock ?? systemClock, config.timeoutMs, signal);
    // The library is loaded with the first mail, because loading it earlier would slow down every command.
    const { createTransport } = await import('nodemailer');
    const transport = createTransport(transportOptions(config, deps, limit.signal));
    try {
      const thread = threadOf(message, config.from);
      const { rejectedErrors = [] } = await transport.sendMail({
        from: config.from,
        to: config.to,
        ...createEmailText(message),
        messageId: `<${notificationId}@${senderDomain(config.from)}>`,
        ...(thread === null ? {} : { inReplyTo: thread, references: thread }),
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal: limit.signal,
      });
      const delivered = { outcome: 'delivered' as const, detail: 'accepted by the mail server' };
      if (rejectedErrors.length === 0) return delivered;
      return { ...delivered, refused: refusedRecipients(rejectedErrors, config) };
    } catch (error) {
      if (signal.aborted) return { outcome: 'cancelled' };
      if (limit.signal.aborted) {
        return {
          outcome: 'retry',
          reason: `not accepted within ${config.timeoutMs} ms`,
          retryAfterMs: null,
          unknown: true,
        };
      }
      return failedMail(error, config);
    } finally {
      limit.release();
      transport.close();
    }
  }
  return { name: config.name, type: 'email', deliver };
}

/** Connects to the mail server and logs in as a delivery does, but sends no mail. Throws OutboundError. */
export async function tryMailServer(config: Omit<EmailConfig, 'type'>, deps: EmailDeps = {}): Promise<void> {
  const limit = attemptLimit(deps.clock ?? systemClock, config.timeoutMs);
  const { createTransport } = await import('nodemailer');
  const transport = createTransport(transportOptions(config, deps, limit.signal));
  const late = new Promise<never>((_, reject) => {
    limit.signal.addEventListener('abort', () => reject(Object.assign(new Error('late'), { code: 'ETIMEDOUT' })));
  });
  try {
    await Promise.race([transport.verify(), late]);
  } catch (error) {
    const reply = replyOf(error);
    if (reply === null) throw mailError(error);
    const { fault, remedy } = explainSmtpRefusal(reply, config);
    throw new UnreachableError(fault, { hint: remedy ?? undefined, neverSent: true });
  } finally {
    limit.release();
    transport.close();
  }
}

function transportOptions(config: Omit<EmailConfig, 'type'>, deps: EmailDeps, signal: AbortSignal) {
  const { host, port, tls, allowPrivate, login, ca } = config;
  const lenient = config.allowInsecure || isLoopbackHost(host);
  const policy = { allowPrivate, resolve: deps.resolve };
  return {
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls' && !lenient,
    tls: { rejectUnauthorized: !lenient, minVersion: 'TLSv1.2' as const, ...(ca === undefined ? {} : { ca }) },
    ...(login === null ? {} : { auth: { user: login.user, pass: login.password } }),
    disableFileAccess: true,
    disableUrlAccess: true,
    // Our own socket: nodemailer would resolve the host name again, and might connect to an address that is not allowed.
    getSocket(_options: object, callback: (error: Error | null, socket?: object) => void): void {
      openGuardedSocket({ host, port }, policy, signal).then(
        (connection) => callback(null, { connection }),
        (error: Error) => callback(error),
      );
    },
  };
}

/**
 * Converts the error of an attempt into the result of the delivery. Its reason contains only codes of the server's
 * reply, because the text may quote the message.
 */
function failedMail(
  error: unknown,
  config: Pick<EmailConfig, 'from' | 'to'>,
): Extract<DeliveryResult, { reason: string }> {
  const reply = replyOf(error);
  return reply === null ? toFailedDelivery(mailError(error)) : refusedMail(explainSmtpRefusal(reply, config));
}

/** Returns the mail server's reply that an error reports. Null without a reply, and if the server refused STARTTLS. */
function replyOf(error: unknown): SmtpReply | null {
  return errorCode(error) === 'ETLS' ? null : findSmtpReply(error);
}

/** Converts an error without a reply of the server. nodemailer keeps the socket's error code in `originalCode`. */
function mailError(error: unknown): OutboundError {
  if (error instanceof OutboundError) return error;
  const code = errorCode(error) ?? 'unknown';
  const { originalCode = code } = error as { originalCode?: string };
  if (code !== 'ETLS') return unreachableError(originalCode);
  const { remedy } = connectionFault(originalCode);
  return new UnreachableError(`no secure connection (${code})`, { hint: remedy, neverSent: true });
}

function refusedMail(refusal: SmtpRefusal): Extract<DeliveryResult, { reason: string }> {
  const { kind } = refusal;
  const reason = withWords(refusal);
  if (kind === 'rejected' || kind === 'too_large') return { outcome: kind, reason };
  const retry = { outcome: 'retry' as const, reason, retryAfterMs: null, unknown: false };
  return kind === 'denial' ? { ...retry, isDenial: true } : retry;
}

function withWords({ fault, remedy }: SmtpRefusal): string {
  return remedy === null ? fault : `${fault}; ${remedy}`;
}

/** Returns a sentence that names the recipients that the mail server refused, each with its status, and the remedy. */
function refusedRecipients(
  errors: readonly { recipient?: string | undefined }[],
  { from }: Pick<EmailConfig, 'from'>,
): string {
  const refusals = errors.map((error) => {
    const { recipient = 'a recipient' } = error;
    const reply = findSmtpReply(error);
    return {
      name: `${recipient} (${reply === null ? 'no reply' : `SMTP ${reply.status}`})`,
      remedy: reply === null ? null : explainSmtpRefusal(reply, { from, to: [recipient] }).remedy,
    };
  });
  const fault = `the mail server refuses ${refusals.map(({ name }) => name).join(', ')}`;
  const remedy = refusals.find((refusal) => refusal.remedy !== null)?.remedy ?? null;
  return remedy === null ? fault : `${fault}; ${remedy}`;
}

/**
 * Returns the reference shared by all mails about one alert, so that a mailbox shows them as one conversation; null for
 * other mails.
 */
function threadOf({ alert }: Message, from: string): string | null {
  return alert === null || !/^\w+$/.test(alert.alert_id) ? null : `<${alert.alert_id}@${senderDomain(from)}>`;
}

/** Returns the domain after the last `@`, also for the form `Name <address>`. */
function senderDomain(from: string): string {
  return from.slice(from.lastIndexOf('@') + 1).replace(/>$/, '');
}
