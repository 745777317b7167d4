import { type Dispatcher, request } from 'undici';
import { isLoopbackHost } from '../../config/rules.ts';
import type { Clock } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import type { Channel, ChannelMessage, DeliveryResult } from './channel.ts';
import { webhookOutcome } from './webhook-outcome.ts';
import { webhookKey, webhookSignature } from './webhook-signature.ts';

export interface WebhookTarget {
  name: string;
  url: string;
  /** Null: sent without a signature. */
  secret: string | null;
}

export interface WebhookDeps {
  clock: Clock;
  /** Absent: undici's global one. */
  dispatcher?: Dispatcher;
  /** Limit of a whole attempt; 10 s when absent. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 10_000;
const ANSWER_BYTES = 4096;

/**
 * Posts each notification as JSON with the headers of Standard Webhooks (`webhook-id`, `webhook-timestamp` and, with a
 * secret, `webhook-signature`), signed afresh on every attempt. Redirects are not followed. Raises
 * `webhook_url_refused` for a target that must not be called and `bad_webhook_secret`, both before anything is sent.
 */
export function createWebhookChannel(target: WebhookTarget, deps: WebhookDeps): Channel {
  const url = allowedUrl(target);
  const key = target.secret === null ? null : webhookKey(target.secret);
  const timeoutMs = deps.timeoutMs ?? TIMEOUT_MS;

  async function deliver(message: ChannelMessage, options: { signal: AbortSignal }): Promise<DeliveryResult> {
    const limit = attemptLimit(options.signal, timeoutMs);
    try {
      const answer = await request(url, {
        method: 'POST',
        headers: signedHeaders(message, key, deps.clock),
        body: message.payload,
        // Notifications are rare: a connection kept since the last one is likely dead when it is needed.
        reset: true,
        signal: limit.signal,
        ...(deps.dispatcher === undefined ? {} : { dispatcher: deps.dispatcher }),
      });
      const retryAfter = [answer.headers['retry-after'] ?? []].flat()[0];
      const result = webhookOutcome(answer.statusCode, retryAfter, deps.clock.now());
      // The status has decided; whether the rest of the answer arrives in time changes nothing.
      await answer.body.dump({ limit: ANSWER_BYTES });
      return result;
    } catch (error) {
      if (options.signal.aborted) return { outcome: 'retry', reason: 'the attempt was cancelled', retryAfterMs: null };
      if (limit.signal.aborted) {
        return { outcome: 'retry', reason: `no answer within ${timeoutMs} ms`, retryAfterMs: null };
      }
      return failedRequest(error);
    } finally {
      limit.release();
    }
  }
  return { name: target.name, type: 'webhook', deliver };
}

function signedHeaders(message: ChannelMessage, key: Buffer | null, clock: Clock): Record<string, string> {
  const id = message.notificationId;
  const timestampSeconds = Math.floor(clock.now() / 1000);
  return {
    'content-type': 'application/json',
    'user-agent': 'usage-ledger',
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    ...(key === null ? {} : { 'webhook-signature': webhookSignature(key, id, timestampSeconds, message.payload) }),
  };
}

/** Only the error's code is told: messages may quote headers, and with them the signature. */
function failedRequest(error: unknown): DeliveryResult {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'UND_ERR_INVALID_ARG') return { outcome: 'rejected', reason: `the request cannot be built (${code})` };
  return { outcome: 'retry', reason: `no connection or no answer (${code})`, retryAfterMs: null };
}

/** Aborts on the caller's signal or after the timeout, whichever comes first; `release` leaves no timer or listener. */
function attemptLimit(outer: AbortSignal, timeoutMs: number): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = setTimeout(abort, timeoutMs);
  outer.addEventListener('abort', abort, { once: true });
  if (outer.aborted) abort();
  const release = () => {
    clearTimeout(timer);
    outer.removeEventListener('abort', abort);
  };
  return { signal: controller.signal, release };
}

/** The address of a webhook is often a secret itself, so errors name the channel instead. */
function allowedUrl({ name, url }: WebhookTarget): URL {
  const refuse = (fault: string, hint: string) =>
    new AppError('webhook_url_refused', `the url of webhook channel ${JSON.stringify(name)} ${fault}`, { hint });
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || !['https:', 'http:'].includes(parsed.protocol)) {
    throw refuse('is not a web address', 'write it as https://host/path');
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw refuse('carries a user or password', 'remove them; set `secret` to sign the notifications');
  }
  if (parsed.protocol === 'http:' && !isLoopbackHost(parsed.hostname)) {
    throw refuse('is not encrypted', 'use https://; http:// is only for receivers on this machine');
  }
  return parsed;
}
