import type { Clock } from '../core/clock.ts';
import { nextAttemptDelayMs } from './backoff.ts';
import type { Channel, DeliveryResult } from './channels/channel.ts';
import type { DeliveryRecord, OutboxRow } from './outbox.ts';

/** How long one sender keeps a notification in hand: longer than any channel's timeout. */
const CLAIM_MS = 60_000;

/** The outbox as a sender sees it; the writing half runs in the ledger's writer. */
export interface OutboxAccess {
  find(notificationId: string): OutboxRow | null;
  claim(request: { notificationId: string; nowMs: number; claimMs: number }): Promise<boolean>;
  record(record: DeliveryRecord): Promise<void>;
}

export interface DeliveryDeps {
  outbox: OutboxAccess;
  channels: ReadonlyMap<string, Channel>;
  clock: Clock;
  /** From 0 to below 1. */
  random: () => number;
}

export type DeliveryOutcome =
  | { state: 'delivered' }
  | { state: 'pending'; attempt: number; delayMs: number; reason: string }
  | { state: 'dead'; reason: string }
  /** Not due, already ended, or in another sender's hands. */
  | { state: 'skipped' };

/** Makes one attempt to deliver one notification and writes down what came of it. */
export async function deliverNotification(
  deps: DeliveryDeps,
  notificationId: string,
  signal: AbortSignal,
): Promise<DeliveryOutcome> {
  const { outbox, clock } = deps;
  if (!(await outbox.claim({ notificationId, nowMs: clock.now(), claimMs: CLAIM_MS }))) return { state: 'skipped' };
  const row = outbox.find(notificationId);
  if (row === null) return { state: 'skipped' };
  const attempt = row.attempts + 1;
  const outcome = judge(await attemptOnce(deps, row, attempt, signal), attempt, deps.random);
  const nowMs = clock.now();
  await outbox.record({
    notificationId,
    state: outcome.state,
    nextAttemptAtMs: nowMs + (outcome.state === 'pending' ? outcome.delayMs : 0),
    error: outcome.state === 'delivered' ? null : outcome.reason,
    nowMs,
  });
  return outcome;
}

async function attemptOnce(
  deps: DeliveryDeps,
  row: OutboxRow,
  attempt: number,
  signal: AbortSignal,
): Promise<DeliveryResult> {
  const channel = deps.channels.get(row.channel);
  if (channel === undefined) {
    return { outcome: 'rejected', reason: `channel ${JSON.stringify(row.channel)} is no longer configured` };
  }
  return channel.deliver({ notificationId: row.notificationId, payload: row.payload, attempt }, { signal });
}

function judge(
  result: DeliveryResult,
  attempt: number,
  random: () => number,
): Exclude<DeliveryOutcome, { state: 'skipped' }> {
  if (result.outcome === 'delivered') return { state: 'delivered' };
  if (result.outcome !== 'retry') return { state: 'dead', reason: result.reason };
  const delayMs = nextAttemptDelayMs(attempt, random);
  if (delayMs === null) return { state: 'dead', reason: `given up after ${attempt} attempts: ${result.reason}` };
  return { state: 'pending', attempt, delayMs: Math.max(delayMs, result.retryAfterMs ?? 0), reason: result.reason };
}
