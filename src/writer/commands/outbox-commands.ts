import { askDue, askSoon } from '../../alerts/book/ask.ts';
import { endFaultsOfOthers } from '../../alerts/outbox/channel-faults.ts';
import { claimDelivery, recordDelivery, releaseDelivery, restartWaits } from '../../alerts/outbox/outbox.ts';
import { replayDead } from '../../alerts/outbox/replay.ts';
import { composeDailySummaries } from '../../alerts/summaries/compose-daily-summaries.ts';
import { type Desk, onConnection } from './desk.ts';

/** What happens to notifications once there are any. */
export const outboxCommands = {
  claimDelivery: onConnection(claimDelivery),
  releaseDelivery: onConnection(releaseDelivery),
  /** Returns the notifications about a channel that the attempt has disabled. */
  recordDelivery: onConnection(recordDelivery),
  restartWaits: onConnection(restartWaits),
  replayDead: onConnection(replayDead),
  /** Returns what is to go now without any run having changed anything. */
  askDue: ({ connection }: Desk, { nowMs }: { nowMs: number }): string[] => askDue(connection, nowMs),
  /** Has everything that is open asked for, and ends what is said of channels that are not those of this process. */
  askAll({ connection }: Desk, { nowMs }: { nowMs: number }): void {
    endFaultsOfOthers(connection, nowMs);
    askSoon(connection, null, nowMs);
  },
  /** Returns the daily summaries that were made of what waited for them. */
  composeDailySummaries: ({ connection }: Desk, { nowMs }: { nowMs: number }): string[] =>
    composeDailySummaries(connection, nowMs),
};
