import type { Channel, DeliveryResult } from '../alerts/channels/channel.ts';
import { type DeliveryOutcome, deliverNotification } from '../alerts/channels/deliver.ts';
import { testPayload } from '../alerts/messages/test-message.ts';
import { findDisabledChannels } from '../alerts/outbox/channel-states.ts';
import { type Clock, isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { Randomness } from '../core/randomness.ts';
import type { LedgerReader } from '../ledger/store/file/open.ts';
import type { Writer } from '../writer/writer.ts';
import type { MetricEvents } from './metric-events.ts';

/** The result of sending a test message through one channel. */
export interface TestReport {
  channel: string;
  type: string;
  notificationId: string;
  latencyMs: number;
  result: DeliveryResult;
}

/** The parts of a Context that sending a notification needs. */
interface DeliveryWiring {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly randomness: Randomness;
  readonly metricEvents: MetricEvents;
  writer(): Promise<Writer>;
  reader(): LedgerReader;
}

export async function deliver(
  deps: DeliveryWiring,
  notificationId: string,
  signal: AbortSignal,
): Promise<DeliveryOutcome> {
  const { channels, clock, logger, randomness, metricEvents } = deps;
  const writer = await deps.writer();
  const reader = deps.reader();
  const outcome = await deliverNotification(
    {
      access: {
        whyDisabled: (name) =>
          findDisabledChannels(reader.connection).find((channel) => channel.name === name)?.reason ?? null,
        claim: (request) => writer.claimDelivery(request),
        record: (record) => writer.recordAttempt(record),
      },
      channels,
      clock,
      random: () => randomness.fraction(),
      onAttempt: (channel, outcome) => void metricEvents.emit('delivery', channel, outcome),
    },
    notificationId,
    signal,
  );
  if (outcome.state === 'dead') {
    const { channel, reason, disabled } = outcome;
    if (disabled) logger.error({ channel, reason }, 'channel disabled: nothing more is sent to it');
    else logger.error({ channel, notification: notificationId, reason }, 'notification given up');
  }
  return outcome;
}

/** Sends a message marked as a test through one channel. The ledger is neither needed nor changed. */
export async function sendTest(deps: DeliveryWiring, name: string, signal: AbortSignal): Promise<TestReport> {
  const { channels, clock, randomness } = deps;
  const channel = channels.get(name) ?? onlyOfType(channels, name);
  if (channel === undefined) {
    const known = [...channels.keys()].map((candidate) => JSON.stringify(candidate)).join(', ');
    throw new AppError('unknown_channel', `channel ${JSON.stringify(name)} is not configured`, {
      hint: `use one of ${known}`,
    });
  }
  const notificationId = `msg_test_${randomness.bytes(16).toString('hex')}`;
  const payload = testPayload({ notificationId, channel: channel.name, createdAt: isoTime(clock.now()) });
  const startedAt = clock.monotonic();
  const result = await channel.deliver({ notificationId, payload, attempt: 1 }, { signal });
  const latencyMs = Math.round(clock.monotonic() - startedAt);
  return { channel: channel.name, type: channel.type, notificationId, latencyMs, result };
}

/** Returns the only channel of a type. Channels without a configured name are called `log-1` or `slack-2`. */
function onlyOfType(channels: ReadonlyMap<string, Channel>, type: string): Channel | undefined {
  const fitting = [...channels.values()].filter((channel) => channel.type === type);
  return fitting.length === 1 ? fitting[0] : undefined;
}
