/**
 * `fresh`: not tried yet. `trying`: the first attempt is in progress. `possible`: the receiver may have it, so it keeps
 * its id and bytes, and nothing newer about its members is sent. `refused`: the receiver does not have it, and its
 * members are decided again. `dead`: given up.
 */
export type DeliveryState = 'fresh' | 'trying' | 'possible' | 'delivered' | 'refused' | 'dead';

/**
 * `claim`: a sender takes it. `accepted`, `refused` (certainly not delivered), `unknown`, `rejected` (the same would be
 * refused again): result of an attempt. `exhausted`: failed for three days. `cut_off`: the attempt was interrupted.
 * `outdated`: waited too long for its first attempt. `replay`: a person wants another attempt. `withdraw`: another
 * ledger sends it.
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
 * The effect on a message's members. `notified`: the channel has been notified. `freed`: decide again. `given_up`: do
 * not try again. `forgotten`: the channel counts as not notified by this message. `dropped`: the notification is no
 * longer pending.
 */
export type MemberEffect = 'notified' | 'freed' | 'given_up' | 'forgotten' | 'dropped';

export interface Next {
  state: DeliveryState;
  members?: MemberEffect;
}

const STAYS_POSSIBLE: Next = { state: 'possible' };
const DELIVERED: Next = { state: 'delivered', members: 'notified' };
const WITHDRAWN: Next = { state: 'refused', members: 'dropped' };
/** Another ledger continues. The receiver may have the message, so it gets the end if this ledger is used again. */
const TAKEN_BACK: Next = { state: 'refused', members: 'notified' };

/** A message that has ended ignores all events. */
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

/** The next state for each state and event; null: no change. */
export const DELIVERY_TABLE: Record<DeliveryState, Record<DeliveryEvent, Next | null>> = {
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
