import type { ChannelConfig } from '../../config/types.ts';
import type { Logger } from '../../core/logger.ts';
import type { Channel, ChannelMessage, DeliveryResult } from './channel.ts';
import { createEmailChannel } from './email-channel.ts';
import { createPagerdutyChannel } from './pagerduty-channel.ts';
import { type Payload, readPayload, summaryItems } from './read-payload.ts';
import { createSlackChannel } from './slack-channel.ts';
import { createTeamsChannel } from './teams-channel.ts';
import { createWebhookChannel, type HttpChannelDeps } from './webhook-channel.ts';

export interface ChannelDeps extends HttpChannelDeps {
  logger: Logger;
}

export function createChannels(configs: readonly ChannelConfig[], deps: ChannelDeps): Map<string, Channel> {
  return new Map(configs.map((config) => [config.name, createChannel(config, deps)]));
}

function createChannel(config: ChannelConfig, deps: ChannelDeps): Channel {
  switch (config.type) {
    case 'log':
      return createLogChannel(config.name, deps.logger);
    case 'webhook':
      return createWebhookChannel(config, deps);
    case 'slack':
      return createSlackChannel(config, deps);
    case 'teams':
      return createTeamsChannel(config, deps);
    case 'pagerduty':
      return createPagerdutyChannel(config, deps);
    case 'email':
      return createEmailChannel(config, deps);
  }
}

/**
 * Writes each notification, and each alert of a daily summary, as one short line: `error` for a critical one, `warn` for all
 * others and for what is resolved. At `debug` the whole notification follows. Numbers stay exact; strings are made
 * inert, because log lines end up on terminals.
 */
export function createLogChannel(name: string, logger: Logger): Channel {
  const deliver = async ({ notificationId, payload, attempt }: ChannelMessage): Promise<DeliveryResult> => {
    const notification = readPayload(payload);
    if (notification === null) return { outcome: 'rejected', reason: 'the payload is not a JSON object' };
    const items = summaryItems(notification);
    for (const about of items ?? [notification]) {
      const { alert_id, rule } = about;
      const carrier = items === null ? {} : { daily_summary: notificationId };
      const words = String(about.summary ?? notificationId);
      logger[levelOf(about)]({ channel: name, ...carrier, alert_id, rule }, words);
    }
    logger.debug({ channel: name, attempt, notification }, 'the notification as a whole');
    return { outcome: 'delivered', detail: 'logged' };
  };
  return { name, type: 'log', deliver };
}

function levelOf({ severity, state }: Payload): 'error' | 'warn' {
  return severity === 'critical' && state !== 'resolved' ? 'error' : 'warn';
}
