import type { SlackConfig, TeamsConfig } from '../../config/channel-types.ts';
import type { Channel } from './channel.ts';
import { type MessageView, messageView } from './message-view.ts';
import { channelUrl } from './outbound/channel-url.ts';
import { postJson } from './outbound/post-json.ts';
import type { HttpChannelDeps } from './webhook-channel.ts';

/** How a place for people is written to. */
interface Form {
  type: string;
  /** The JSON for it. */
  bodyOf(view: MessageView, notificationId: string): object;
}

/** Posts each notification, as people read it, in the form of its place. Raises `channel_url_refused`. */
export function createViewChannel(
  config: Omit<SlackConfig | TeamsConfig, 'type'>,
  { clock, proxy, resolve }: HttpChannelDeps,
  { type, bodyOf }: Form,
): Channel {
  const url = channelUrl(config);
  const { name, timeoutMs, allowPrivate, ca } = config;
  const policy = { allowPrivate, resolve };
  return {
    name,
    type,
    async deliver(message, { signal }) {
      const view = messageView(message.payload);
      if (view === null) return { outcome: 'rejected', reason: 'the payload is not a JSON object' };
      const body = JSON.stringify(bodyOf(view, message.notificationId));
      return postJson({ url, headers: {}, body, policy, timeoutMs, ca, proxy, clock, signal });
    },
  };
}
