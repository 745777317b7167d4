import type { ChannelConfig } from '../../config/channel-types.ts';
import type { Logger } from '../../core/logger.ts';
import type { Channel } from './channel.ts';
import { createEmailChannel } from './email-channel.ts';
import { createLogChannel } from './log-channel.ts';
import { createPagerdutyChannel } from './pagerduty-channel.ts';
import { createSlackChannel } from './slack-channel.ts';
import { createTeamsChannel } from './teams-channel.ts';
import { createWebhookChannel, type HttpChannelDeps } from './webhook-channel.ts';

/** The parts of the program that channels need. */
export interface ChannelDeps extends HttpChannelDeps {
  logger: Logger;
}

export function openChannel(config: ChannelConfig, deps: ChannelDeps): Channel {
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
