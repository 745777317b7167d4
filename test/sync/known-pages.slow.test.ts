import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Consistency } from '../../src/config/types.ts';
import type { RunKind } from '../../src/ledger/journal/runs/claim-run.ts';
import type { RunWindow } from '../../src/ledger/journal/staging/staging.ts';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import { type Change, playLedger, QUIET, type Step, WHOLE } from './ledger-play.ts';

const RUNS = Number(process.env.KNOWN_PAGES_RUNS ?? 30);
const SEED = 20_260_401;

test('no run has another verdict, figure or history than one that parses every page', async () => {
  let fewer = 0;
  let more = 0;
  const property = fc.asyncProperty(
    fc.array(stepOf(fc.constant(0)), { minLength: 2, maxLength: 10 }),
    async (steps) => {
      const [one, other] = [playLedger(), playLedger()];
      for (const step of steps) {
        const asked = await one.play(step);
        other.forget();
        const plainly = await other.play(step);
        expect(asked.outcome).toEqual(plainly.outcome);
        expect(historyOf(one.connection)).toEqual(historyOf(other.connection));
        if (asked.requests < plainly.requests) fewer += 1;
        if (asked.requests > plainly.requests) more += 1;
      }
    },
  );
  await fc.assert(property, { numRuns: RUNS, seed: SEED, includeErrorInReport: true });
  // Some readings were spared their second pass, and some had to ask again for pages put aside.
  expect(fewer).toBeGreaterThan(RUNS / 10);
  expect(more).toBeGreaterThan(0);
}, 300_000);

test('whatever changes under a reading, the ledger holds what is listed once it stands still', async () => {
  const steps = fc.array(stepOf(fc.nat(6)), { minLength: 1, maxLength: 6 });
  const property = fc.asyncProperty(steps, async (played) => {
    const { connection, play, listed } = playLedger();
    for (const step of played) await play({ ...step, workspace: 'ws-1' });
    // Twice to miss what is gone, and once more for what was missed by the first of them only.
    for (let run = 0; run < 3; run += 1) expect((await play(QUIET)).outcome).not.toHaveProperty('code');
    const live = connection.prepare(
      `SELECT period || ' ' || tenant_id || ' ' || credits_used FROM finance_usage WHERE withdrawn = 0 ORDER BY 1`,
    );
    expect(live.pluck().all()).toEqual(listed('ws-1'));
  });
  await fc.assert(property, { numRuns: RUNS, seed: SEED, includeErrorInReport: true });
}, 300_000);

function stepOf(before: fc.Arbitrary<number>): fc.Arbitrary<Step> {
  const change: fc.Arbitrary<Change> = fc.record({
    op: fc.constantFrom('value', 'value', 'add', 'remove', 'reorder'),
    pick: fc.nat(40),
    before,
  });
  return fc.record({
    changes: fc.oneof(fc.constant([]), fc.array(change, { minLength: 1, maxLength: 3 })),
    kind: fc.constantFrom<RunKind>('manual', 'manual', 'manual', 'scheduled', 'reconcile'),
    window: fc.constantFrom<RunWindow>(
      WHOLE,
      WHOLE,
      WHOLE,
      { from: '2026-02', to: '2026-03' },
      { from: null, to: null },
    ),
    workspace: fc.constantFrom<Step['workspace']>('ws-1', 'ws-1', 'ws-2'),
    consistency: fc.constantFrom<Consistency>('counted', 'twice', 'auto'),
    isDeaf: fc.constantFrom(false, false, false, true),
  });
}

/** Every entry in the order of the ledger, and what stands of each key. */
function historyOf(connection: LedgerDb): unknown[] {
  const entries = connection.prepare(
    'SELECT workspace_id, period, tenant_id, kind, credits_delta, credits_after FROM finance_history ORDER BY entry_id',
  );
  const usage = connection.prepare(
    `SELECT workspace_id, period, tenant_id, credits_used, request_count, withdrawn FROM finance_usage
     ORDER BY workspace_id, period, tenant_id`,
  );
  return [entries.raw().all(), usage.raw().all()];
}
