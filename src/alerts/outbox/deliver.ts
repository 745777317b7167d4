import type { WallClock } from '../../core/clock.ts';
import type { Channel, DeliveryResult } from '../channels/channel.ts';
import { nextAttemptDelayMs } from '../tell/backoff.ts';
import { disabledReason } from './channel-states.ts';
import { CLAIM_MS, type DeliveryRecord, type OutboxRow } from './outbox.ts';

/** After so many failed attempts, some twenty minutes, the other channels are told. */
const TOLD_AFTER_ATTEMPTS = 5;

/** The outbox as a sender sees it; the writing half runs in the ledger's writer. */
export interface OutboxAccess {
  find(notificationId: string): OutboxRow | null;
  /** Why the channel is disabled; null when it is not. */
  whyDisabled(channel: string): string | null;
  claim(request: { notificationId: string; nowMs: number; claimMs: number }): Promise<boolean>;
  release(notificationId: string): Promise<void>;
  /** Returns what tells other channels how this one fares. */
  record(record: DeliveryRecord): Promise<string[]>;
}

export interface DeliveryDeps {
  outbox: OutboxAccess;
  channels: ReadonlyMap<string, Channel>;
  clock: WallClock;
  /** From 0 to below 1. */
  random: () => number;
  /** Told of each attempt that has ended. */
  onAttempt?: (channel: string, outcome: DeliveryResult['outcome']) => void;
}

export type DeliveryOutcome =
  | { state: 'delivered' }
  | { state: 'pending'; attempt: number; delayMs: number; reason: string }
  /** `disabled`: its channel takes nothing more from now on. `told`: notifications that tell the others. */
  | { state: 'dead'; reason: string; channel: string; disabled: boolean; told: string[] }
  /** Not due, already ended, or in another sender's hands. */
  | { state: 'skipped' };

/**
 * Makes one attempt to deliver one notification and writes down what came of it. An attempt that the signal cuts off is
 * not counted: the notification is let go of, and the signal's reason is thrown.
 */
export async function deliverNotification(
  deps: DeliveryDeps,
  notificationId: string,
  signal: AbortSignal,
): Promise<DeliveryOutcome> {
  const { outbox, clock } = deps;
  signal.throwIfAborted();
  const known = outbox.find(notificationId);
  // A process that has the channel may be about to send it; what nobody knows the outcome of ends here.
  if (known === null || (!deps.channels.has(known.channel) && known.unknownAttempts === 0)) return { state: 'skipped' };
  if (!(await outbox.claim({ notificationId, nowMs: clock.now(), claimMs: CLAIM_MS }))) return { state: 'skipped' };
  const row = outbox.find(notificationId);
  if (row === null) return { state: 'skipped' };
  const result = await attemptOnce(deps, row, signal);
  deps.onAttempt?.(row.channel, result.outcome);
  if (result.outcome === 'cancelled') {
    await outbox.release(notificationId);
    throw signal.reason;
  }
  const nowMs = clock.now();
  const outcome = judge(result, row, deps.random);
  const disabled = result.outcome === 'disabled';
  const refused = result.outcome === 'delivered' ? (result.refused ?? null) : null;
  const { channel } = row;
  const says = saysOfChannel(outcome, row, { disabled, refused }, deps);
  const told = await outbox.record({
    notificationId,
    state: outcome.state,
    nextAttemptAtMs: nowMs + (outcome.state === 'pending' ? outcome.delayMs : 0),
    error: outcome.state === 'delivered' ? refused : outcome.reason,
    unknown: result.outcome === 'retry' && result.unknown,
    nowMs,
    ...(says === null ? {} : { about: { channel, says } }),
  });
  return outcome.state === 'dead' ? { ...outcome, channel, disabled, told } : outcome;
}

/** What an attempt says of its channel; null: nothing. Of one that nobody knows any more there is nothing to tell. */
function saysOfChannel(
  outcome: Judged,
  { channel, attemptsBefore }: OutboxRow,
  { disabled, refused }: { disabled: boolean; refused: string | null },
  { channels }: Pick<DeliveryDeps, 'channels'>,
): 'works' | 'fails' | 'disabled' | null {
  if (disabled) return 'disabled';
  if (!channels.has(channel) || (outcome.state === 'delivered' && refused === null)) return 'works';
  const isWaitedFor = outcome.state === 'pending' && outcome.attempt - attemptsBefore !== TOLD_AFTER_ATTEMPTS;
  return isWaitedFor ? null : 'fails';
}

async function attemptOnce(deps: DeliveryDeps, row: OutboxRow, signal: AbortSignal): Promise<DeliveryResult> {
  const channel = deps.channels.get(row.channel);
  if (channel === undefined) {
    return { outcome: 'rejected', reason: `channel ${JSON.stringify(row.channel)} is no longer configured` };
  }
  const why = deps.outbox.whyDisabled(row.channel);
  if (why !== null) return { outcome: 'rejected', reason: disabledReason(row.channel, why) };
  const { notificationId, payload, attempts } = row;
  return channel.deliver({ notificationId, payload, attempt: attempts + 1 }, { signal });
}

/** What is to become of a notification. */
type Judged =
  | Exclude<DeliveryOutcome, { state: 'skipped' | 'dead' }>
  | Pick<Extract<DeliveryOutcome, { state: 'dead' }>, 'state' | 'reason'>;

function judge(
  result: Exclude<DeliveryResult, { outcome: 'cancelled' }>,
  row: OutboxRow,
  random: () => number,
): Judged {
  if (result.outcome === 'delivered') return { state: 'delivered' };
  if (result.outcome !== 'retry') return { state: 'dead', reason: result.reason };
  const attempt = row.attempts + 1;
  const delayMs = nextAttemptDelayMs(attempt - row.attemptsBefore, random);
  if (delayMs === null) return { state: 'dead', reason: `given up after ${attempt} attempts: ${result.reason}` };
  return { state: 'pending', attempt, delayMs: Math.max(delayMs, result.retryAfterMs ?? 0), reason: result.reason };
}
