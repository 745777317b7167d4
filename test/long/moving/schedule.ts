import fc from 'fast-check';

/** What can happen to a listing at one instant. */
export type MoveOp =
  /** A record of a tenant never seen before. */
  | 'insert'
  | 'delete'
  /** One record leaves and a new one comes, so that the totals stay. */
  | 'swap'
  /** A record gets any other value: in a listing by credits it goes anywhere. */
  | 'reorder'
  | 'grow'
  /** A record that has left comes back; without one, as `insert`. */
  | 'return'
  /** The records are those of the run's start again. */
  | 'restore';

/** `pick` chooses the record, `value` its new credits and where a new one stands; both wrap around. */
export interface Move {
  op: MoveOp;
  pick: number;
  value: number;
}

/** Moves at one instant, right before the answer number `before` (from 0) of a walk; it wraps around the pages. */
export interface Burst {
  before: number;
  moves: readonly Move[];
}

/** How a listing moves under a run. Everything that is random is in here, so a schedule plays the same every time. */
export interface Schedule {
  order: 'by_period' | 'shuffled' | 'credits';
  rows: number;
  perPage: number;
  concurrency: number;
  /** Which of the requests in flight is answered next; wraps around. */
  picks: readonly number[];
  /** The bursts of walk 1, 2 and 3. */
  walks: readonly (readonly Burst[])[];
  /** The ledger holds the workspace already, and one of its keys has vanished since. */
  known: boolean;
  /** Page 2 of this walk is answered with 503, once or for ever. */
  outage: { walk: number; forEver: boolean } | null;
}

const OPS = {
  grow: ['grow'],
  reorder: ['reorder', 'reorder', 'grow'],
  insert: ['insert', 'reorder', 'grow'],
  delete: ['delete', 'reorder', 'grow'],
  swap: ['swap', 'swap', 'grow'],
  mixed: ['insert', 'delete', 'swap', 'reorder', 'grow'],
  /** As `mixed`, but what leaves may come back. */
  returning: ['insert', 'delete', 'return', 'return', 'swap', 'reorder', 'grow'],
} as const satisfies Record<string, readonly MoveOp[]>;

/** Kinds of movement. In a `flapping` listing the same records leave and come back in step with every walk. */
export type Kind = keyof typeof OPS | 'flapping';

/** Schedules of one kind of movement; most have bursts on the first two walks. */
export function schedulesOf(kind: Kind): fc.Arbitrary<Schedule> {
  const bursts = burstsOf(kind === 'flapping' ? OPS.swap : OPS[kind]);
  const walks = kind === 'flapping' ? bursts.map(inStep) : fc.tuple(bursts, bursts, bursts);
  const onlyValues = kind === 'grow' || kind === 'reorder';
  const outage = fc.record({ walk: fc.integer({ min: 1, max: 2 }), forEver: fc.boolean() });
  return fc.record({
    // Values alone move records in no other order.
    order: onlyValues ? fc.constant('credits') : fc.constantFrom('credits', 'by_period', 'shuffled'),
    rows: fc.integer({ min: 12, max: 60 }),
    perPage: fc.integer({ min: 5, max: 10 }),
    concurrency: fc.integer({ min: 1, max: 4 }),
    picks: fc.array(fc.nat(3), { minLength: 1, maxLength: 8 }),
    walks,
    known: fc.boolean(),
    outage: fc.oneof({ arbitrary: fc.constant(null), weight: 9 }, { arbitrary: outage, weight: 1 }),
  });
}

function burstsOf(ops: readonly MoveOp[]): fc.Arbitrary<Burst[]> {
  const move = fc.record({ op: fc.constantFrom(...ops), pick: fc.nat(999), value: fc.nat(9_999) });
  const burst = fc.record({ before: fc.nat(11), moves: fc.array(move, { minLength: 1, maxLength: 4 }) });
  return fc.array(burst, { maxLength: 3 });
}

/** The same bursts under every walk, each of which finds the records of the run's start. */
function inStep(bursts: readonly Burst[]): Burst[][] {
  const restore: Burst = { before: 0, moves: [{ op: 'restore', pick: 0, value: 0 }] };
  return [[...bursts], [restore, ...bursts], [restore, ...bursts]];
}
