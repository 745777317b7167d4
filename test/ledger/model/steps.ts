import fc from 'fast-check';
import { PERIODS, TENANTS, type UpstreamChange } from './upstream.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export type WalkOf = 'once' | 'twice' | 'after_a_broken_one' | 'broken' | 'empty';

export interface RunStep {
  do: 'run';
  workspace: number;
  /** Indexes of PERIODS; null is no limit. */
  from: number | null;
  to: number | null;
  /** Before it begins. */
  pauseMs: number;
  changes: UpstreamChange[];
  walk: WalkOf;
  /** How long the walk takes. */
  walkMs: number;
  /** Tenants, as bits, whose history cannot be read. */
  unreadable: number;
  /** The run falls asleep before it publishes. */
  sleeps: boolean;
}

export type Step =
  /** Below 0 the clock is set back. */
  | { do: 'wait'; ms: number }
  | RunStep
  | { do: 'wake'; workspace: number }
  | { do: 'close'; workspace: number; period: number; force: boolean; settleHours: number }
  | { do: 'reopen'; workspace: number; period: number };

const workspace = fc.nat(1);
/** Positions among the periods to choose from, modulo their number. */
const position = fc.nat(11);
const credits = fc.oneof(
  { weight: 8, arbitrary: fc.bigInt(0n, 5_000n) },
  { weight: 1, arbitrary: fc.constantFrom(0n, 9_007_199_254_740_993n, 2n ** 57n) },
);

const WHAT = ['set', 'set', 'grow', 'grow', 'shrink', 'remove', 'remove', 'return', 'return', 'hide', 'show'] as const;
const change: fc.Arbitrary<UpstreamChange> = fc.record({
  what: fc.constantFrom(...WHAT),
  // Some tenants are busier than others, so that much happens to the same key.
  tenant: fc.oneof(fc.nat(1), fc.nat(TENANTS.length - 1)),
  period: fc.nat(PERIODS.length - 1),
  credits,
  requests: fc.bigInt(0n, 50n),
});

const pause = fc.constantFrom(0, 0, 1, MINUTE, MINUTE, HOUR, 12 * HOUR - 1, 12 * HOUR, DAY);
const wait: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('wait' as const),
  ms: fc.constantFrom(2 * DAY, 9 * DAY, 20 * DAY),
});

const setBack: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('wait' as const),
  ms: fc.constantFrom(-1, -MINUTE, -HOUR, -9 * HOUR, -3 * DAY, -30 * DAY),
});

function run(limits: { changes: number; ranges: boolean }): fc.Arbitrary<RunStep> {
  const end = limits.ranges ? fc.option(fc.nat(PERIODS.length - 1), { freq: 3 }) : fc.constant(null);
  return fc.record({
    do: fc.constant('run' as const),
    workspace,
    pauseMs: pause,
    from: end,
    to: end,
    changes: fc.array(change, { maxLength: limits.changes, size: 'max' }),
    walk: fc.oneof(
      { weight: 20, arbitrary: fc.constant<WalkOf>('once') },
      { weight: 4, arbitrary: fc.constantFrom<WalkOf>('twice', 'after_a_broken_one', 'broken', 'empty') },
    ),
    walkMs: fc.constantFrom(0, 1, MINUTE),
    unreadable: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(63) }),
    sleeps: fc.oneof({ weight: 15, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  });
}

const wake: fc.Arbitrary<Step> = fc.record({ do: fc.constant('wake' as const), workspace });
const close: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('close' as const),
  workspace,
  period: position,
  force: fc.boolean(),
  settleHours: fc.constantFrom(0, 48),
});
const reopen: fc.Arbitrary<Step> = fc.record({ do: fc.constant('reopen' as const), workspace, period: position });

/** What an orderly month end looks like: two quiet runs a day apart, then the close. */
const monthEnd: fc.Arbitrary<Step[]> = fc
  .record({ quiet: run({ changes: 0, ranges: false }), workspace, period: position })
  .map(({ quiet, workspace: of, period }) => {
    const plain: Step = { ...quiet, workspace: of, walk: 'once', sleeps: false };
    const day: Step = { do: 'wait', ms: DAY };
    return [
      { do: 'wait', ms: 9 * DAY },
      plain,
      day,
      plain,
      { do: 'close', workspace: of, period, force: false, settleHours: 48 },
    ];
  });

/** A first run that brings about twenty records. */
const opening: fc.Arbitrary<Step> = fc
  .record({ first: run({ changes: 0, ranges: false }), records: fc.array(change, { minLength: 30, maxLength: 30 }) })
  .map(({ first, records }) => {
    return { ...first, walk: 'once', changes: records.map((record) => ({ ...record, what: 'set' })) };
  });

/** A history of `length` steps, with a clock that is set back now and then, or never. */
export function histories(length: number, { setBacks = false } = {}): fc.Arbitrary<Step[]> {
  const one = (step: fc.Arbitrary<Step>): fc.Arbitrary<Step[]> => step.map((single) => [single]);
  const part = fc.oneof(
    { weight: 8, arbitrary: one(run({ changes: 10, ranges: true })) },
    { weight: 6, arbitrary: one(run({ changes: 10, ranges: false })) },
    { weight: 4, arbitrary: one(run({ changes: 0, ranges: true })) },
    { weight: 3, arbitrary: one(wait) },
    { weight: 5, arbitrary: one(close) },
    { weight: 3, arbitrary: one(reopen) },
    { weight: 2, arbitrary: one(wake) },
    { weight: 2, arbitrary: monthEnd },
    ...(setBacks ? [{ weight: 4, arbitrary: one(setBack) }] : []),
  );
  // Parts that shrink to nothing leave a short history of what matters; without bias the first histories are rich too.
  const perhaps = (steps: fc.Arbitrary<Step[]>) => fc.option(steps, { freq: 50, nil: [] });
  const openings = fc.tuple(perhaps(one(opening)), perhaps(one(opening)));
  const parts = fc.array(perhaps(part), { minLength: length, maxLength: length });
  return fc.noBias(fc.tuple(openings, parts)).map((all) => all.flat(2).slice(0, length));
}
