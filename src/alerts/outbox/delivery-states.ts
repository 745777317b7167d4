/**
 * The state of a message. `fresh`: not tried yet. `trying`: the first attempt is in progress. `possible`: the receiver
 * may have the message, so it is retried with the same id and bytes, and nothing newer about its alerts is sent.
 * `refused`: the receiver does not have the message, and its alerts are decided again. `dead`: given up.
 */
export type DeliveryState = 'fresh' | 'trying' | 'possible' | 'delivered' | 'refused' | 'dead';

/**
 * An event of a message. `claim`: a sender takes it. Results of an attempt: `accepted`, `refused` (certainly not
 * delivered), `unknown`, `rejected` (the same message would be refused again), `exhausted` (failed for three days) and
 * `cut_off` (the attempt was interrupted). `outdated`: the message must be composed again before its first attempt.
 * `replay`: a person wants another attempt. `withdraw`: another ledger sends the notification.
 */
export type DeliveryEvent =
  | 'claim'
  | 'accepted'
  | 'refused'
  | 'unknown'
  | 'rejected'
  | 'exhausted'
  | 'cut_off'
  | 'outdated'
  | 'replay'
  | 'withdraw';

/**
 * The effect of an event on the alerts of a message. `notified`: the channel has been notified of them. `freed`: decide
 * again about them. `given_up`: do not try again. `forgotten`: the message counts as not delivered. `dropped`: their
 * notifications are no longer pending.
 */
export type MemberEffect = 'notified' | 'freed' | 'given_up' | 'forgotten' | 'dropped';

/** The state of a message after an event, and the effect on its alerts if the message has ended. */
export interface NextDeliveryState {
  state: DeliveryState;
  members?: MemberEffect;
}

const STAYS_POSSIBLE: NextDeliveryState = { state: 'possible' };
const DELIVERED: NextDeliveryState = { state: 'delivered', members: 'notified' };
const WITHDRAWN: NextDeliveryState = { state: 'refused', members: 'dropped' };
/**
 * Another ledger continues and the receiver may have the message. It counts as notified, so that the receiver gets the
 * end of the alert if this ledger is used again.
 */
const TAKEN_BACK: NextDeliveryState = { state: 'refused', members: 'notified' };

/** A message in a final state, delivered or given up, ignores all events. */
const OVER: Record<DeliveryEvent, null> = {
  claim: null,
  accepted: null,
  refused: null,
  unknown: null,
  rejected: null,
  exhausted: null,
  cut_off: null,
  outdated: null,
  replay: null,
  withdraw: null,
};

/** The next state of a message for each state and event; null: the event changes nothing. */
export const DELIVERY_TABLE: Record<DeliveryState, Record<DeliveryEvent, NextDeliveryState | null>> = {
  fresh: {
    claim: { state: 'trying' },
    accepted: null,
    refused: null,
    unknown: null,
    rejected: null,
    exhausted: null,
    cut_off: null,
    outdated: { state: 'refused', members: 'freed' },
    replay: null,
    withdraw: WITHDRAWN,
  },
  trying: {
    // The sender died, possibly after it had sent the message.
    claim: STAYS_POSSIBLE,
    accepted: DELIVERED,
    refused: { state: 'refused', members: 'freed' },
    unknown: STAYS_POSSIBLE,
    rejected: { state: 'dead', members: 'given_up' },
    exhausted: { state: 'dead', members: 'given_up' },
    cut_off: STAYS_POSSIBLE,
    outdated: null,
    replay: null,
    withdraw: TAKEN_BACK,
  },
  possible: {
    claim: STAYS_POSSIBLE,
    accepted: DELIVERED,
    refused: STAYS_POSSIBLE,
    unknown: STAYS_POSSIBLE,
    rejected: { state: 'dead', members: 'notified' },
    exhausted: { state: 'dead', members: 'notified' },
    cut_off: STAYS_POSSIBLE,
    outdated: null,
    replay: STAYS_POSSIBLE,
    withdraw: TAKEN_BACK,
  },
  delivered: OVER,
  refused: OVER,
  dead: { ...OVER, replay: { state: 'refused', members: 'forgotten' } },
};
