import { askDue } from '../../alerts/book/ask.ts';
import { composeDigests } from '../../alerts/digests/compose-digests.ts';
import { composeReviews } from '../../alerts/digests/compose-reviews.ts';
import { claimDelivery, recordDelivery, releaseDelivery } from '../../alerts/outbox/outbox.ts';
import { replayDead } from '../../alerts/outbox/replay.ts';
import { type Desk, onConnection } from './desk.ts';

/** What happens to notifications once there are any. */
export const outboxCommands = {
  claimDelivery: onConnection(claimDelivery),
  releaseDelivery: onConnection(releaseDelivery),
  /** Returns the notifications about a channel that the attempt has disabled. */
  recordDelivery: onConnection(recordDelivery),
  replayDead: onConnection(replayDead),
  /** Returns what is to go now without any run having changed anything. */
  askDue: onConnection(askDue),
  /** Both return the digests that were made of what waited for them. */
  composeReviews: onConnection(composeReviews),
  composeDigests: ({ connection }: Desk, { nowMs }: { nowMs: number }): string[] => composeDigests(connection, nowMs),
};
