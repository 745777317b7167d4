import type { Logger } from '../../core/logger.ts';
import type { Channel, ChannelMessage, DeliveryResult } from './channel.ts';
import { alertsOfSummary, type Payload, readPayload } from './read-payload.ts';

/**
 * Creates a channel that logs each notification, and each alert of a digest, as one line: with level `error` if it is
 * critical, `warn` if it is not or has ended. The level `debug` adds the whole notification. Numbers stay exact.
 * Strings are made inert, because log lines are shown on terminals.
 */
export function createLogChannel(name: string, logger: Logger): Channel {
  const deliver = async ({ notificationId, payload, attempt }: ChannelMessage): Promise<DeliveryResult> => {
    const notification = readPayload(payload);
    if (notification === null) return { outcome: 'rejected', reason: 'the payload is not a JSON object' };
    const items = alertsOfSummary(notification);
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
