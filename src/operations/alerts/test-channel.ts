import { z } from 'zod';
import type { DeliveryResult } from '../../alerts/channels/channel.ts';
import { changeOperation } from '../operation.ts';
import { idText } from '../schemas.ts';

const OUTCOMES = [
  'delivered',
  'retry',
  'rejected',
  'too_large',
  'disabled',
  'cancelled',
] as const satisfies readonly DeliveryResult['outcome'][];

export const testChannel = changeOperation({
  name: 'channels.test',
  summary: 'Send a test message through a channel and show the response',
  role: 'operate',
  input: z.strictObject({ channel: idText.describe('the name of the channel') }),
  output: z.strictObject({
    channel: z.string(),
    type: z.string(),
    notification_id: z.string(),
    outcome: z.enum(OUTCOMES),
    answer: z.string().describe('the response of the receiver, or the reason'),
    latency_ms: z.int(),
    remedy: z.string().nullable().describe('null if the message was delivered'),
  }),
  http: { method: 'POST', path: '/channels/{channel}/test' },
  command: 'alerts test',
  async run({ context, signal }, input) {
    const { channel, type, notificationId, latencyMs, result } = await context.test(input.channel, signal);
    const { outcome } = result;
    const { answer, remedy } = describeResult(result);
    return {
      applied: outcome === 'delivered',
      document: { channel, type, notification_id: notificationId, outcome, answer, latency_ms: latencyMs, remedy },
      notes: [],
    };
  },
});

function describeResult(result: DeliveryResult): { answer: string; remedy: string | null } {
  switch (result.outcome) {
    case 'delivered':
      return { answer: result.detail, remedy: null };
    case 'retry':
      return {
        answer: result.reason,
        remedy: 'A notification would be retried for three days; check that the receiver is up and reachable',
      };
    case 'rejected':
    case 'too_large':
      return {
        answer: result.reason,
        remedy: "A notification would be given up; correct the channel's settings, then test again",
      };
    case 'disabled':
      return {
        answer: result.reason,
        remedy: 'A notification would disable the channel; set a new address, or remove the channel',
      };
    case 'cancelled':
      return { answer: 'stopped before a response arrived', remedy: null };
  }
}
