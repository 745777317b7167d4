import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clear, holds, INCONCLUSIVE, type Judgement, UNDECIDED } from '../../../src/alerts/rules/judgement.ts';
import { type AlertStatus, advanceAlert, type LifecycleContext } from '../../../src/alerts/state/lifecycle.ts';
import { LEVEL_RANK, OPEN_ALERT_STATES } from '../../../src/core/text/alert-words.ts';

const HOUR_MS = 3_600_000;
const certain = (magnitude: bigint | null = null) =>
  holds({ level: 'happened', severity: 'critical', threshold: 1n, magnitude });
const paceOf = (magnitude: bigint) =>
  holds({
    ...{ level: 'likely', severity: 'warning', threshold: 1n },
    ...{ magnitude, confirmAfterMs: 6 * HOUR_MS },
  });
const pace = paceOf(10n);
const final = holds({ level: 'settled', severity: 'critical', threshold: 1n, magnitude: 10n });

const ANYTIME = { seeding: false, waits: () => false };

/** Plays judgements, one a run and six hours apart; what changed in each. */
function play(judgements: readonly Judgement[], moment: Partial<LifecycleContext> = {}): (string | null)[] {
  let status: AlertStatus | null = null;
  return judgements.map((judgement, run) => {
    const next = advanceAlert(status, judgement, { ...ANYTIME, nowMs: run * 6 * HOUR_MS, runKey: run, ...moment });
    if (next !== null) status = next.status;
    return next?.change ?? null;
  });
}

describe('an alert', () => {
  it('is pending while its rule needs confirmation, and fires six hours later', () => {
    expect(play([pace, pace, pace])).toEqual(['pending', 'fired', null]);
    const soon = advanceAlert(null, pace, { ...ANYTIME, nowMs: 0, runKey: 1 })?.status ?? null;
    expect(advanceAlert(soon, pace, { ...ANYTIME, nowMs: 6 * HOUR_MS - 1, runKey: 2 })?.change).toBeNull();
  });

  it('is pending no longer if the clock is set back', () => {
    const ahead = advanceAlert(null, pace, { ...ANYTIME, nowMs: 9 * HOUR_MS, runKey: 1 })?.status ?? null;
    const back = advanceAlert(ahead, pace, { ...ANYTIME, nowMs: 0, runKey: 2 });
    expect(back?.change).toBeNull();
    expect(advanceAlert(back?.status ?? null, pace, { ...ANYTIME, nowMs: 6 * HOUR_MS, runKey: 3 })?.change).toBe(
      'fired',
    );
    // What waits for a second run only is told by it.
    const seen = holds({ level: 'happened', severity: 'critical', threshold: null, confirmAfterMs: 0 });
    const once = advanceAlert(null, seen, { ...ANYTIME, nowMs: 9 * HOUR_MS, runKey: 1 })?.status ?? null;
    expect(advanceAlert(once, seen, { ...ANYTIME, nowMs: 0, runKey: 2 })?.change).toBe('fired');
  });

  it('expires without a message when a pending rule no longer holds', () => {
    expect(play([pace, UNDECIDED, pace, clear(false)])).toEqual(['pending', 'expired', 'pending', 'expired']);
  });

  it('stays pending while its rule is inconclusive, and fires only when it holds', () => {
    expect(play([pace, INCONCLUSIVE, pace])).toEqual(['pending', null, 'fired']);
    expect(play([pace, INCONCLUSIVE, INCONCLUSIVE, clear(false)])).toEqual(['pending', null, null, 'expired']);
    expect(play([INCONCLUSIVE, pace, pace, INCONCLUSIVE])).toEqual([null, 'pending', 'fired', null]);
  });

  it('keeps its settled level and severity when a clock makes it likely again', () => {
    const settled = advanceAlert(null, final, { ...ANYTIME, nowMs: 0, runKey: 1 })?.status ?? null;
    expect(advanceAlert(settled, pace, { ...ANYTIME, nowMs: 1, runKey: 2 })?.status).toMatchObject({
      level: 'settled',
      severity: 'critical',
    });
    const happened = advanceAlert(null, certain(), { ...ANYTIME, nowMs: 0, runKey: 1 })?.status ?? null;
    expect(advanceAlert(happened, pace, { ...ANYTIME, nowMs: 1, runKey: 2 })?.status).toMatchObject({
      level: 'likely',
      severity: 'warning',
    });
  });

  it('gets smaller while a forecast only nearly holds, but no larger', () => {
    const told = advanceAlert(null, pace, { ...ANYTIME, nowMs: 0, runKey: 1, seeding: true })?.status ?? null;
    const grown = advanceAlert(told, paceOf(40n), { ...ANYTIME, nowMs: 1, runKey: 2 })?.status ?? null;
    const fallen = advanceAlert(grown, { ...UNDECIDED, magnitude: 12n }, { ...ANYTIME, nowMs: 2, runKey: 3 });
    expect(fallen?.status).toMatchObject({ state: 'firing', magnitude: 12n });
    const risen = advanceAlert(
      fallen?.status ?? null,
      { ...UNDECIDED, magnitude: 90n },
      { ...ANYTIME, nowMs: 3, runKey: 4 },
    );
    expect(risen?.status).toMatchObject({ state: 'firing', magnitude: 12n });
  });

  it('fires at once in the first sync', () => {
    expect(play([pace], { seeding: true })).toEqual(['fired']);
  });

  it('rises through the levels, and falls only from happened to likely', () => {
    expect(play([pace, pace, certain(), pace, certain(), final, certain()])).toEqual([
      ...['pending', 'fired', 'escalated', 'eased', 'escalated', 'escalated', null],
    ]);
  });

  it('counts its episodes, and keeps each fact that held since it began', () => {
    const facts = (magnitude: bigint) =>
      holds({ level: 'likely', severity: 'warning', threshold: 1n, magnitude, isBitMask: true });
    const first = advanceAlert(null, facts(2n), { ...ANYTIME, nowMs: 0, runKey: 1 })?.status ?? null;
    expect(first).toMatchObject({ state: 'firing', episode: 1, magnitude: 2n });
    const more = advanceAlert(first, facts(4n), { ...ANYTIME, nowMs: 0, runKey: 2 })?.status ?? null;
    expect(more).toMatchObject({ magnitude: 6n });
    const ended = advanceAlert(more, clear(true), { ...ANYTIME, nowMs: 0, runKey: 3 })?.status ?? null;
    expect(advanceAlert(ended, facts(1n), { ...ANYTIME, nowMs: 0, runKey: 4 })?.status).toMatchObject({
      ...{ state: 'firing', episode: 2, magnitude: 1n },
    });
  });

  it('resolves at the second run without the cause; an inconclusive run restarts the count', () => {
    expect(play([certain(), clear(false), clear(false)])).toEqual(['fired', null, 'resolved']);
    expect(play([certain(), clear(false), UNDECIDED, clear(false), certain(), clear(false)])).toEqual([
      ...['fired', null, null],
      ...[null, null, null],
    ]);
    expect(play([certain(), clear(true), clear(true)])).toEqual(['fired', 'resolved', null]);
  });

  it('does not change when one run judges it twice', () => {
    fc.assert(
      fc.property(fc.array(judgement, { maxLength: 12 }), judgement, (before, last) => {
        let status: AlertStatus | null = null;
        for (const [run, each] of [...before, last].entries())
          status = advanceAlert(status, each, moment(run))?.status ?? status;
        if (status?.state === 'expired' || status === null) return;
        const again = advanceAlert(status, last, moment(before.length));
        expect(again?.change ?? null).toBeNull();
        expect(again?.status ?? status).toEqual(status);
      }),
    );
  });

  it('resolves once for each time it fired, never before', () => {
    fc.assert(
      fc.property(fc.array(judgement, { maxLength: 40 }), (judgements) => {
        let status: AlertStatus | null = null;
        let firing = false;
        for (const [run, each] of judgements.entries()) {
          const next = advanceAlert(status, each, moment(run));
          if (next === null) continue;
          if (next.change === 'fired') expect(firing).toBe(false);
          if (['resolved', 'escalated', 'grown'].includes(next.change ?? '')) expect(firing).toBe(true);
          if (next.change === 'escalated' && status !== null) {
            expect(LEVEL_RANK[next.status.level]).toBeGreaterThan(LEVEL_RANK[status.level]);
          }
          firing = OPEN_ALERT_STATES.includes(next.status.state) && next.status.state !== 'pending';
          status = next.status;
        }
      }),
    );
  });
});

const judgement: fc.Arbitrary<Judgement> = fc.oneof(
  fc.constantFrom(pace, final, UNDECIDED, clear(true), clear(false)),
  fc.bigInt({ min: 1n, max: 1000n }).map((size) => certain(size)),
);

function moment(run: number): LifecycleContext {
  return { ...ANYTIME, nowMs: run * 6 * HOUR_MS, runKey: run };
}
