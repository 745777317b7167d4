import { parse } from 'lossless-json';
import { inertText } from '../../core/inert-text.ts';
import type { Logger } from '../../core/logger.ts';
import type { Channel, ChannelMessage, DeliveryResult } from './channel.ts';

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

function readPayload(payload: string): Record<string, unknown> | null {
  try {
    const value = parse(payload, inertStrings, exactNumber);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function inertStrings(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? inertText(value) : value;
}

function exactNumber(text: string): bigint | number {
  return /^-?\d+$/.test(text) ? BigInt(text) : Number(text);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
