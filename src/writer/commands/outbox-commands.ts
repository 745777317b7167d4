import { askDue } from '../../alerts/book/ask.ts';
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
  /** Returns the daily summaries that were made of what waited for them. */
  composeDailySummaries: ({ connection }: Desk, { nowMs }: { nowMs: number }): string[] =>
    composeDailySummaries(connection, nowMs),
};
