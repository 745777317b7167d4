import type { Clock } from '../../../core/clock.ts';
import type { DeliveryResult } from '../channel.ts';
import { webhookOutcome } from '../webhook-outcome.ts';
import { attemptLimit } from './attempt-limit.ts';
import { AddressRefusedError, type OutboundPolicy } from './guarded-connect.ts';

export interface JsonPost {
  url: URL;
  /** Beside the content type and the user agent. */
  headers: Record<string, string>;
  /** JSON text. */
  body: string;
  /** Where may be connected to. */
  policy: OutboundPolicy;
  /** Limit of the whole attempt. */
  timeoutMs: number;
  clock: Clock;
  /** Cancels the attempt. */
  signal: AbortSignal;
}

const ANSWER_BYTES = 4096;

/** Posts JSON once and says what became of it, by the status of the answer. Redirects are not followed. */
export async function postJson(post: JsonPost): Promise<DeliveryResult> {
  // Loaded with the first notification only: every command would pay for it at its start.
  const [{ request }, { guardedAgent }] = await Promise.all([import('undici'), import('./guarded-agent.ts')]);
  const limit = attemptLimit(post.signal, post.timeoutMs);
  // Notifications are rare: a connection kept since the last one is likely dead when it is needed.
  const dispatcher = guardedAgent(post.policy, post.timeoutMs);
  try {
    const answer = await request(post.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'usage-ledger', ...post.headers },
      body: post.body,
      reset: true,
      signal: limit.signal,
      dispatcher,
    });
    const retryAfter = [answer.headers['retry-after'] ?? []].flat()[0];
    const result = webhookOutcome(answer.statusCode, retryAfter, post.clock.now());
    // The status has decided; whether the rest of the answer arrives in time changes nothing.
    await answer.body.dump({ limit: ANSWER_BYTES });
    return result;
  } catch (error) {
    if (post.signal.aborted) return { outcome: 'cancelled' };
    if (limit.signal.aborted) {
      return { outcome: 'retry', reason: `no answer within ${post.timeoutMs} ms`, retryAfterMs: null };
    }
    return failedRequest(error);
  } finally {
    limit.release();
    void dispatcher.close();
  }
}

/** Only the error's code is told: messages may quote headers, and with them the signature. */
function failedRequest(error: unknown): DeliveryResult {
  if (error instanceof AddressRefusedError) return refusedAddress(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'UND_ERR_INVALID_ARG') return { outcome: 'rejected', reason: `the request cannot be built (${code})` };
  return { outcome: 'retry', reason: `no connection or no answer (${code})`, retryAfterMs: null };
}

/** A place that must not be connected to is the same at the next attempt: somebody has to change the configuration. */
export function refusedAddress(error: AddressRefusedError): DeliveryResult {
  return { outcome: 'rejected', reason: `${error.message}; ${error.hint ?? ''}` };
}
