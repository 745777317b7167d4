/**
 * `fresh`: made, and not tried yet. `trying`: its first attempt is in the air. `possible`: its receiver may have it, so it keeps
 * its id and its bytes, and nothing newer of its members overtakes it. `refused`: nobody has it, and its members were asked
 * for anew. `dead`: given up.
 */
export type DeliveryState = 'fresh' | 'trying' | 'possible' | 'delivered' | 'refused' | 'dead';

/**
 * `claim`: somebody takes it in hand. `accepted`, `refused` (for sure), `unknown`, `rejected` (the same would be refused again):
 * what came of an attempt; `exhausted`: it has failed for three days; `cut_off`: the attempt was broken off. `outdated`: it has
 * waited for its first attempt for too long. `replay`: somebody wants it to be tried again. `withdraw`: another ledger sends it.
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
 * What becomes of its members: the channel counts as `notified`; they are asked for anew (`freed`); nobody tries again
 * (`given_up`); it counts as not notified by this message (`forgotten`); they are owed no more (`dropped`).
 */
export type MemberEffect = 'notified' | 'freed' | 'given_up' | 'forgotten' | 'dropped';

export interface Next {
  state: DeliveryState;
  members?: MemberEffect;
}

const STAYS_POSSIBLE: Next = { state: 'possible' };
const DELIVERED: Next = { state: 'delivered', members: 'notified' };
const WITHDRAWN: Next = { state: 'refused', members: 'dropped' };
/** Its receiver may have it, and hears its end should this ledger go on. */
const TAKEN_BACK: Next = { state: 'refused', members: 'notified' };

/** Whatever comes, comes too late. */
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

/** What follows in each state on each event; null: nothing. */
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
    // Its sender has died, and may have sent it.
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
