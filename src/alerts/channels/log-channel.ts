import type { Logger } from '../../core/logger.ts';
import type { Channel, ChannelMessage, DeliveryResult } from './channel.ts';
import { readPayload } from './read-payload.ts';

/**
 * Writes each notification as one structured line: `error` for a critical one, `warn` for all others and for what is
 * resolved. Numbers stay exact; strings are made inert, because log lines end up on terminals.
 */
export function createLogChannel(name: string, logger: Logger): Channel {
  const deliver = async (message: ChannelMessage): Promise<DeliveryResult> => {
    const notification = readPayload(message.payload);
    if (notification === null) return { outcome: 'rejected', reason: 'the payload is not a JSON object' };
    const urgent = notification.severity === 'critical' && notification.state !== 'resolved';
    const fields = { channel: name, attempt: message.attempt, notification };
    logger[urgent ? 'error' : 'warn'](fields, String(notification.summary ?? message.notificationId));
    return { outcome: 'delivered', detail: 'logged' };
  };
  return { name, type: 'log', deliver };
}
