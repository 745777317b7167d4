import { randomUUID } from 'node:crypto';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addRowDigest } from '../../../src/ledger/store/file/row-digest.ts';
import { migrateLedger } from '../../../src/ledger/store/schema/migrate.ts';
import { publishLedger } from '../../../src/publish/send/publish-ledger.ts';
import { HistoryPlayer } from '../../ledger/model/history-player.ts';
import { histories } from '../../ledger/model/steps.ts';
import { expectSameTables } from '../compare-tables.ts';
import { fileReplica } from '../file-replica.ts';
import { interfere } from '../people.ts';
import { expectSameViews } from './compare-views.ts';

const HISTORIES = Number(process.env.REPLICA_HISTORIES ?? 3);
const STEPS = Number(process.env.REPLICA_STEPS ?? 10);
const SEED = Number(process.env.REPLICA_SEED ?? Date.now() % 0x7fff_ffff);
const SCHEMA = 'usage_ledger';

const replica = fileReplica(SCHEMA);

test('after each publish of any history every view in Postgres has the rows of SQLite', {
  timeout: Math.max(120_000, HISTORIES * STEPS * 1_000),
}, async () => {
  const client = replica();
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(
      histories(STEPS),
      fc.array(fc.nat(999), { minLength: STEPS, maxLength: STEPS }),
      async (steps, people) => {
        const connection = freshLedger();
        // Their workspaces have the same names, and would count in the first history only.
        await client.query('DELETE FROM ledgers');
        const player = new HistoryPlayer(connection);
        try {
          for (const [index, step] of steps.entries()) {
            await player.take(step);
            await interfere(connection, people[index] ?? 0, player.nowMs);
            await publishLedger({ connection, client, by: 'test', nowMs: player.nowMs });
            const where = `step ${index} (${step.do}, ${people[index]})`;
            await expectSameTables(connection, client, where);
            compared += await expectSameViews(connection, client, where);
          }
        } finally {
          connection.close();
        }
      },
    ),
    // A history is a minute to make smaller, and its first difference says enough.
    { seed: SEED, numRuns: HISTORIES, endOnFailure: true },
  );
  expect(compared, `seed ${SEED}`).toBeGreaterThan(HISTORIES * STEPS);
});

function freshLedger(): Database.Database {
  const connection = new Database(':memory:');
  addRowDigest(connection);
  migrateLedger(connection, ':memory:', '0.0.0', 0);
  connection.prepare("UPDATE ledger_meta SET value = ? WHERE name = 'ledger_id'").run(randomUUID());
  return connection;
}
