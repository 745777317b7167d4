import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { registerRowDigest } from '../../../src/ledger/store/file/row-digest.ts';
import type { LedgerDb } from '../../../src/ledger/store/ledger-db.ts';
import { migrateLedger } from '../../../src/ledger/store/schema/migrate.ts';
import { HistoryPlayer } from './history-player.ts';
import { LedgerComparison } from './ledger-comparison.ts';
import { histories, type Step } from './steps.ts';

const RUNS = Number(process.env.MODEL_RUNS ?? 40);
const STEPS = Number(process.env.MODEL_STEPS ?? 30);
/** A failure prints the seed of the campaign; MODEL_SEED plays it again. */
const SEED = Number(process.env.MODEL_SEED ?? Date.now() % 0x7fff_ffff);

/** What a campaign of so many histories must have met to mean anything: each ten times or more on average. */
const MUST_MEET: readonly [histories: number, outcomes: readonly string[]][] = [
  [40, ['opened', 'increased', 'decreased', 'withdrawn', 'restored', 'unstable', 'suspicious_empty']],
  [40, ['set back', 'closed', 'forced', 'reopened', 'refused: not_over', 'refused: no_second_walk']],
  [100, ['run fenced', 'reopened with adjustments', 'refused: absent']],
  [1000, ['lease held', 'refused: settling', 'refused: no_walk']],
];

test('after every step of any history, all views, the chain and past states match an independent model', {
  timeout: Math.max(300_000, RUNS * STEPS * 40),
}, async () => {
  const image = emptyLedger();
  const met = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(histories(STEPS, { setBacks: true }), async (steps) => {
      const connection = new Database(image);
      registerRowDigest(connection);
      connection.pragma('foreign_keys = ON');
      try {
        await play(connection, steps, met);
      } finally {
        connection.close();
      }
    }),
    { seed: SEED, numRuns: RUNS },
  );
  const expected = MUST_MEET.flatMap(([histories, outcomes]) => (RUNS >= histories ? outcomes : []));
  expect(
    expected.filter((what) => !met.has(what)),
    `seed ${SEED}`,
  ).toEqual([]);
});

async function play(connection: LedgerDb, steps: readonly Step[], met: Map<string, number>): Promise<void> {
  const player = new HistoryPlayer(connection);
  const comparison = new LedgerComparison(connection, player.models);
  for (const [index, step] of steps.entries()) {
    const where = `step ${index}: ${step.do}`;
    for (const { ledger, model } of await player.take(step)) expect(ledger, where).toEqual(model);
    if (step.do !== 'wait') comparison.afterStep(where, player.nowMs);
  }
  comparison.atTheEnd();
  for (const [what, count] of player.met) met.set(what, (met.get(what) ?? 0) + count);
}

/** The image of a migrated ledger: each history starts from a copy of it, in memory. */
function emptyLedger(): Buffer {
  const connection = new Database(':memory:');
  migrateLedger(connection, ':memory:', '0.0.0', 0);
  const image = connection.serialize();
  connection.close();
  return image;
}
