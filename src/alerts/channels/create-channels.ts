import type { ChannelConfig } from '../../config/channel-types.ts';
import type { Channel } from './channel.ts';
import type { ChannelDeps } from './open-channel.ts';

/**
 * Creates the configured channels, by name. Each loads its client when it sends its first message, because most
 * commands send none.
 */
export function createChannels(configs: readonly ChannelConfig[], deps: ChannelDeps): Map<string, Channel> {
  return new Map(configs.map((config) => [config.name, createChannel(config, deps)]));
}

function createChannel(config: ChannelConfig, deps: ChannelDeps): Channel {
  const { name, type } = config;
  let opened: Channel | null = null;
  return {
    name,
    type,
    async deliver(message, options) {
      opened ??= (await import('./open-channel.ts')).openChannel(config, deps);
      return opened.deliver(message, options);
    },
  };
}
