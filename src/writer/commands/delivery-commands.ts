import { endFaultsOfOthers, tellOfChannel } from '../../alerts/channels/channel-faults.ts';
import type { ChannelReport } from '../../alerts/channels/deliver.ts';
import { disableChannel } from '../../alerts/notify/channel-states.ts';
import { compose } from '../../alerts/notify/compose.ts';
import { type AttemptRecord, claimDelivery, recordAttempt } from '../../alerts/notify/deliveries.ts';
import { evaluateAll } from '../../alerts/notify/evaluate-due.ts';
import { replayDead } from '../../alerts/notify/replay.ts';
import { type Desk, onConnection } from './desk.ts';

/** What is owed to channels, and the messages on their way. */
export const deliveryCommands = {
  compose: onConnection(compose),
  claimDelivery: onConnection(claimDelivery),
  /** Also raises or ends the alert about the channel, by what the attempt says of it. */
  recordAttempt({ connection }: Desk, { about, ...record }: AttemptRecord & { about: ChannelReport | null }): void {
    connection
      .transaction(() => {
        recordAttempt(connection, record);
        if (about === null) return;
        const { channel, says } = about;
        const reason = record.error ?? 'it was refused';
        if (says === 'disabled') disableChannel(connection, channel, reason, record.nowMs);
        tellOfChannel(connection, { channel, reason: says === 'works' ? null : reason }, record.nowMs);
      })
      .immediate();
  },
  replayDead: onConnection(replayDead),
  /** For a daemon that starts: asks for everything that is open, and ends what is told of channels that are not its own. */
  evaluateAll({ connection }: Desk, { nowMs }: { nowMs: number }): void {
    endFaultsOfOthers(connection, nowMs);
    evaluateAll(connection, nowMs);
  },
};
