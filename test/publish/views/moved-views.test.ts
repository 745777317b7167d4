import type Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { setCards } from '../../../src/ledger/journal/charges/set-cards.ts';
import { publishLedger } from '../../../src/publish/send/publish-ledger.ts';
import { HistoryPlayer } from '../../ledger/model/history-player.ts';
import { histories } from '../../ledger/model/steps.ts';
import { awake, bringIn, cardsOf, exported, freshLedger, viewsOf } from '../../ledger/transfer/moving/moving-world.ts';
import { publish, usageRecord } from '../../support/open-ledger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { expectSameTables } from '../compare-tables.ts';
import { fileReplica } from '../file-replica.ts';
import { interfere } from '../people.ts';
import { expectSameViews, shownOf } from './compare-views.ts';

const HISTORIES = Number(process.env.REPLICA_HISTORIES ?? 3);
const STEPS = Number(process.env.REPLICA_STEPS ?? 10);
/** After the move. */
const MORE_STEPS = 4;
const SEED = Number(process.env.REPLICA_SEED ?? Date.now() % 0x7fff_ffff);

const replica = fileReplica('usage_ledger');

test('a workspace of any history that moves is counted once in Postgres, before, between and after', {
  timeout: Math.max(180_000, HISTORIES * STEPS * 2_000),
}, async () => {
  const client = replica();
  const folder = temporaryFolder();
  let moved = 0;
  const send = (connection: Database.Database, nowMs: number) =>
    publishLedger({ connection, client, by: 'test', nowMs });
  await fc.assert(
    fc.asyncProperty(
      histories(STEPS + MORE_STEPS).map((steps) => steps.map(awake)),
      fc.array(fc.nat(999), { minLength: STEPS, maxLength: STEPS }),
      async (steps, people) => {
        const [old, target] = [freshLedger(), freshLedger()];
        try {
          // Each history has the replica to itself.
          await client.query('TRUNCATE ledgers');
          const player = new HistoryPlayer(old);
          for (const [index, step] of steps.slice(0, STEPS).entries()) {
            await player.take(step);
            await interfere(old, people[index] ?? 0, player.nowMs);
          }
          if (
            old.prepare("SELECT 1 FROM workspaces WHERE workspace_id = 'ws-1' AND first_run_key > 0").get() ===
            undefined
          )
            return;
          await send(old, player.nowMs);
          const before = await shownOf(client, 'ws-1');
          const others = await shownOf(client, 'ws-2');

          const file = await exported(old, folder, player.nowMs);
          await send(old, player.nowMs);
          expect(await shownOf(client, 'ws-1')).toEqual(before);

          await publish(target, [usageRecord('acme', 7)], { workspaceId: 'ws-0', nowMs: player.nowMs - 1 });
          setCards(target, { cards: cardsOf(old), source: 'configuration', nowMs: player.nowMs });
          moved += bringIn(target, file, player.nowMs).links;
          await send(target, player.nowMs);
          expect(await shownOf(client, 'ws-1')).toEqual(before);
          expect(await shownOf(client, 'ws-2')).toEqual(others);
          await expectSameTables(old, client, 'the old ledger');

          player.moveTo(target);
          for (const [index, step] of steps.slice(STEPS).entries()) {
            if (step.do !== 'wait' && step.workspace !== 0) continue;
            await player.take(step);
            await send(target, player.nowMs);
            const where = `step ${index} (${step.do}) after the move`;
            await expectSameTables(target, client, where);
            await expectSameViews(target, client, where);
            const here = viewsOf(target, 'ws-1');
            const there = await shownOf(client, 'ws-1');
            for (const [view, rows] of Object.entries(there)) expect(rows.length, view).toBe(here[view]?.length);
          }
        } finally {
          old.close();
          target.close();
        }
      },
    ),
    { seed: SEED, numRuns: HISTORIES, endOnFailure: true },
  );
  expect(moved, `seed ${SEED}`).toBeGreaterThan(0);
});
