import type { WallClock } from '../../core/clock.ts';
import { describeDisabledChannel } from '../outbox/channel-states.ts';
import type { AttemptRecord, ClaimedDelivery } from '../outbox/deliveries.ts';
import { nextAttemptDelayMs } from '../pipeline/backoff.ts';
import type { Channel, DeliveryResult } from './channel.ts';

/** After this many failed attempts, about twenty minutes, the other channels are notified that this one fails. */
const REPORT_AFTER_ATTEMPTS = 5;

/** A channel's health after an attempt: it works, fails, or is disabled. */
export interface ChannelReport {
  channel: string;
  says: 'works' | 'fails' | 'disabled';
}

/** The functions of the ledger that a sender needs. All except `whyDisabled` run in the writer thread. */
export interface DeliveryAccess {
  whyDisabled(channel: string): string | null;
  claim(request: { notificationId: string; nowMs: number }): Promise<ClaimedDelivery | null>;
  record(record: AttemptRecord & { about: ChannelReport | null }): Promise<void>;
}

/** The parts that a sender needs to deliver messages. */
export interface DeliveryDeps {
  access: DeliveryAccess;
  channels: ReadonlyMap<string, Channel>;
  clock: WallClock;
  /** Returns a number from 0 to below 1. */
  random: () => number;
  /** Called after each attempt. */
  onAttempt?: (channel: string, outcome: DeliveryResult['outcome']) => void;
}

/** The state of a message after an attempt. */
export type DeliveryOutcome =
  /** `refused` names the recipients that refused, if there are several. */
  | { state: 'delivered'; refused?: string }
  /** Not delivered. The same message, or a new one about the same alerts, is tried after `delayMs`. */
  | { state: 'pending'; attempt: number; delayMs: number; reason: string }
  /** Given up. `disabled`: the channel accepts no more messages. */
  | { state: 'dead'; reason: string; channel: string; disabled: boolean }
  /** Nothing was sent: the message is not due, has ended, or another sender is sending it. */
  | { state: 'skipped' };

/**
 * Makes one attempt to deliver a message and records the result. If the signal interrupts the attempt, it is not
 * counted, the message is released for the next sender, and the signal's reason is thrown.
 */
export async function deliverNotification(
  { access, channels, clock, random, onAttempt }: DeliveryDeps,
  notificationId: string,
  signal: AbortSignal,
): Promise<DeliveryOutcome> {
  signal.throwIfAborted();
  const claimed = await access.claim({ notificationId, nowMs: clock.now() });
  if (claimed === null) return { state: 'skipped' };
  const { channel, claimedAt } = claimed;
  const result = await attemptOnce({ access, channels }, claimed, signal);
  onAttempt?.(channel, result.outcome);
  const { outcome, ...ended } = judgeAttempt(result, claimed, random);
  const nowMs = clock.now();
  const says = outcome === null ? null : channelReportOf(outcome, claimed, { result, isServed: channels.has(channel) });
  await access.record({ notificationId, claimedAt, ...ended, nowMs, about: says === null ? null : { channel, says } });
  if (outcome === null) throw signal.reason;
  return outcome;
}

async function attemptOnce(
  { access, channels }: Pick<DeliveryDeps, 'access' | 'channels'>,
  { channel: name, notificationId, payload, attempts }: ClaimedDelivery,
  signal: AbortSignal,
): Promise<DeliveryResult> {
  const channel = channels.get(name);
  if (channel === undefined) {
    return { outcome: 'rejected', reason: `channel ${JSON.stringify(name)} is no longer configured` };
  }
  const why = access.whyDisabled(name);
  if (why !== null) return { outcome: 'rejected', reason: describeDisabledChannel(name, why) };
  return channel.deliver({ notificationId, payload, attempt: attempts + 1 }, { signal });
}

/** A delivery attempt, in the form in which it is recorded, and its outcome; null if the attempt was cut off. */
type Judged = Pick<AttemptRecord, 'event' | 'delayMs' | 'error' | 'tooLarge'> & { outcome: DeliveryOutcome | null };

function judgeAttempt(
  result: DeliveryResult,
  { channel, payload, attempts, failures, members }: ClaimedDelivery,
  random: () => number,
): Judged {
  const dead = (reason: string, disabled = false) => ({ state: 'dead' as const, reason, channel, disabled });
  switch (result.outcome) {
    case 'cancelled':
      return { event: 'cut_off', delayMs: 0, error: null, outcome: null };
    case 'delivered':
      return { event: 'accepted', delayMs: 0, error: result.refused ?? null, outcome: deliveredTo(result.refused) };
    case 'rejected':
    case 'disabled': {
      const { reason } = result;
      return { event: 'rejected', delayMs: 0, error: reason, outcome: dead(reason, result.outcome === 'disabled') };
    }
    case 'too_large': {
      const { reason } = result;
      if (members <= 1) return { event: 'rejected', delayMs: 0, error: reason, outcome: dead(reason) };
      // The members are sent again at once, in smaller messages.
      const outcome = { state: 'pending' as const, attempt: attempts + 1, delayMs: 0, reason };
      return { event: 'refused', delayMs: 0, error: reason, tooLarge: Buffer.byteLength(payload), outcome };
    }
    case 'retry': {
      const delayMs = nextAttemptDelayMs(failures + 1, random);
      if (delayMs === null) {
        const reason = `given up after ${failures + 1} attempts: ${result.reason}`;
        return { event: 'exhausted', delayMs: 0, error: reason, outcome: dead(reason) };
      }
      const waitMs = Math.max(delayMs, result.retryAfterMs ?? 0);
      const outcome = { state: 'pending' as const, attempt: failures + 1, delayMs: waitMs, reason: result.reason };
      return { event: result.unknown ? 'unknown' : 'refused', delayMs: waitMs, error: result.reason, outcome };
    }
  }
}

function deliveredTo(refused: string | undefined): DeliveryOutcome {
  return refused === undefined ? { state: 'delivered' } : { state: 'delivered', refused };
}

/**
 * Returns the channel's health after an attempt; null if the attempt does not change it or the channel is not
 * configured.
 */
function channelReportOf(
  outcome: DeliveryOutcome,
  { failures }: ClaimedDelivery,
  { result, isServed }: { result: DeliveryResult; isServed: boolean },
): ChannelReport['says'] | null {
  if (result.outcome === 'disabled') return 'disabled';
  if (!isServed || (result.outcome === 'delivered' && result.refused === undefined)) return 'works';
  if (result.outcome === 'retry' && result.isDenial === true) return 'fails';
  if (result.outcome === 'too_large' && outcome.state === 'pending') return null;
  return outcome.state === 'pending' && failures + 1 !== REPORT_AFTER_ATTEMPTS ? null : 'fails';
}
