import type { SlackConfig, TeamsConfig } from '../../config/channel-types.ts';
import { sleep } from '../../core/clock.ts';
import type { Message } from '../messages/message.ts';
import type { ResponseBodyReader } from './accepted-bodies.ts';
import type { Channel } from './channel.ts';
import { requireChannelUrl } from './channel-url.ts';
import { postJson } from './post-json.ts';
import { readMessage } from './read-message.ts';
import type { HttpChannelDeps } from './webhook-channel.ts';

/** How messages are written for a chat service. */
interface Form {
  type: string;
  /** Returns the JSON body for a message. */
  bodyOf(message: Message): object;
  /** Finds a failure in the body of a 2xx response. */
  readBody: ResponseBodyReader;
  /** The shortest time between the starts of two requests; 0 or absent: none. */
  spacingMs?: number;
}

/** Creates a channel that posts each notification in the form of a chat service. Throws `channel_url_refused`. */
export function createChatChannel(
  config: Omit<SlackConfig | TeamsConfig, 'type'>,
  { clock, proxy, resolve }: HttpChannelDeps,
  { type, bodyOf, readBody, spacingMs = 0 }: Form,
): Channel {
  const url = requireChannelUrl(config);
  const { name, timeoutMs, allowPrivate, ca } = config;
  const policy = { allowPrivate, resolve };
  let nextFreeMs = Number.NEGATIVE_INFINITY;
  /** Waits until this message may be sent. */
  const turn = async (signal: AbortSignal): Promise<void> => {
    if (spacingMs === 0) return;
    const nowMs = clock.monotonic();
    const atMs = Math.max(nowMs, nextFreeMs);
    nextFreeMs = atMs + spacingMs;
    if (atMs > nowMs) await sleep(clock, atMs - nowMs, signal);
  };
  return {
    name,
    type,
    async deliver({ payload }, { signal }) {
      const message = readMessage(payload);
      if (message === null) return { outcome: 'rejected', reason: 'the payload is not a JSON object' };
      const body = JSON.stringify(bodyOf(message));
      try {
        await turn(signal);
      } catch (error) {
        if (signal.aborted) return { outcome: 'cancelled' };
        throw error;
      }
      return postJson({ url, headers: {}, body, policy, timeoutMs, ca, proxy, clock, signal, readBody });
    },
  };
}
