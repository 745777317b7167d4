import type { WebhookConfig } from '../../config/channel-types.ts';
import type { Clock, WallClock } from '../../core/clock.ts';
import type { Resolve } from '../../net/address-guard.ts';
import type { ProxySettings } from '../../net/proxy.ts';
import type { Channel, ChannelMessage } from './channel.ts';
import { requireChannelUrl } from './channel-url.ts';
import { postJson } from './post-json.ts';
import { decodeWebhookKey, signWebhook } from './webhook-signature.ts';

/** The parts of the program that channels with HTTP need. */
export interface HttpChannelDeps {
  clock: Clock;
  /** Resolves host names; absent: the system's resolver. */
  resolve?: Resolve | undefined;
  proxy?: ProxySettings | null | undefined;
}

/**
 * Creates a channel that posts each notification as JSON with the headers of Standard Webhooks: `webhook-id`,
 * `webhook-timestamp` and, if there are secrets, `webhook-signature`. Each attempt is signed with every secret, so that
 * the receiver may know the new one or the old one. Throws `channel_url_refused` or `bad_webhook_secret` at once, not
 * when a message is sent.
 */
export function createWebhookChannel(config: Omit<WebhookConfig, 'type'>, deps: HttpChannelDeps): Channel {
  const url = requireChannelUrl(config);
  const keys = config.secrets.map(decodeWebhookKey);
  const { timeoutMs, allowPrivate, ca } = config;
  const { clock, proxy } = deps;
  return {
    name: config.name,
    type: 'webhook',
    deliver: (message, { signal }) =>
      postJson({
        url,
        headers: signedHeaders(message, keys, clock),
        body: message.payload,
        policy: { allowPrivate, resolve: deps.resolve },
        timeoutMs,
        ca,
        proxy,
        clock,
        signal,
      }),
  };
}

function signedHeaders(message: ChannelMessage, keys: readonly Buffer[], clock: WallClock): Record<string, string> {
  const id = message.notificationId;
  const timestampSeconds = Math.floor(clock.now() / 1000);
  const signatures = keys.map((key) => signWebhook(key, id, timestampSeconds, message.payload));
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    ...(signatures.length === 0 ? {} : { 'webhook-signature': signatures.join(' ') }),
  };
}
