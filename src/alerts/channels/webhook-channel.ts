import type { WebhookConfig } from '../../config/channel-types.ts';
import type { Clock, WallClock } from '../../core/clock.ts';
import type { Resolve } from '../../net/address-guard.ts';
import type { ProxySettings } from '../../net/proxy.ts';
import type { Channel, ChannelMessage } from './channel.ts';
import { channelUrl } from './channel-url.ts';
import { postJson } from './post-json.ts';
import { webhookKey, webhookSignature } from './webhook-signature.ts';

export interface HttpChannelDeps {
  clock: Clock;
  /** The system's resolver when absent. */
  resolve?: Resolve | undefined;
  proxy?: ProxySettings | null | undefined;
}

/**
 * Posts each notification as JSON with the headers of Standard Webhooks (`webhook-id`, `webhook-timestamp` and, with
 * secrets, `webhook-signature`), signed afresh on every attempt with each secret, so that a receiver may know the new
 * one or the old one. Raises `channel_url_refused` for an address that must not be called and `bad_webhook_secret`, both
 * before anything is sent.
 */
export function createWebhookChannel(config: Omit<WebhookConfig, 'type'>, deps: HttpChannelDeps): Channel {
  const url = channelUrl(config);
  const keys = config.secrets.map(webhookKey);
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
  const signatures = keys.map((key) => webhookSignature(key, id, timestampSeconds, message.payload));
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    ...(signatures.length === 0 ? {} : { 'webhook-signature': signatures.join(' ') }),
  };
}
