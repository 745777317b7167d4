import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HistoryPlayer } from '../ledger/model/history-player.ts';
import { histories } from '../ledger/model/steps.ts';
import { openLedger } from '../support/open-ledger.ts';
import { expectSameViews } from './compare-views.ts';
import { copyServer } from './copy-server.ts';
import { interfere } from './people.ts';

const HISTORIES = Number(process.env.PUBLISH_HISTORIES ?? 3);
const STEPS = Number(process.env.PUBLISH_STEPS ?? 10);
const SEED = Number(process.env.PUBLISH_SEED ?? Date.now() % 0x7fff_ffff);

const copies = copyServer();

test('after each publication of any history every view in Postgres has the rows of SQLite, and a check finds nothing', {
  timeout: Math.max(120_000, HISTORIES * STEPS * 1_000),
}, async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(
      histories(STEPS),
      fc.array(fc.nat(999), { minLength: STEPS, maxLength: STEPS }),
      async (steps, people) => {
        const { connection, path } = openLedger();
        const { reader, publish } = await copies.open();
        const player = new HistoryPlayer(connection);
        for (const [index, step] of steps.entries()) {
          await player.take(step);
          await interfere(connection, people[index] ?? 0, player.nowMs);
          const where = `step ${index} (${step.do}, ${people[index]})`;
          const report = await publish(path, index % 3 === 2 ? { compare: 'check' } : {});
          expect(report.differences, where).toEqual([]);
          compared += await expectSameViews(connection, reader, where);
        }
      },
    ),
    // A history is a minute to make smaller, and its first difference says enough.
    { seed: SEED, numRuns: HISTORIES, endOnFailure: true },
  );
  expect(compared, `seed ${SEED}`).toBeGreaterThan(HISTORIES * STEPS);
});
