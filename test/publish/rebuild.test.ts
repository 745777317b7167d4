import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkMoney } from '../../src/ledger/audit/money/verify-money.ts';
import { verifyLedger } from '../../src/ledger/audit/verify/verify.ts';
import { headOfChain } from '../../src/ledger/journal/runs/digest.ts';
import { openForWriting } from '../../src/ledger/store/file/open.ts';
import { migrateLedger } from '../../src/ledger/store/schema/migrate.ts';
import { rebuildLedger } from '../../src/publish/receive/rebuild-ledger.ts';
import { publishLedger } from '../../src/publish/send/publish-ledger.ts';
import { HistoryPlayer } from '../ledger/model/history-player.ts';
import { histories } from '../ledger/model/steps.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { expectSameTables } from './compare-tables.ts';
import { fileReplica } from './file-replica.ts';
import { interfere } from './people.ts';

const HISTORIES = Number(process.env.REPLICA_HISTORIES ?? 8);
const STEPS = Number(process.env.REPLICA_STEPS ?? 16);
const SEED = Number(process.env.REPLICA_SEED ?? Date.now() % 0x7fff_ffff);

const replica = fileReplica('usage_ledger');

/** Nobody has interfered with the replica, so nothing of it is sent twice. */
async function send(connection: Database.Database, nowMs: number): Promise<void> {
  const { mended } = await publishLedger({ connection, client: replica(), by: 'test', nowMs });
  expect(mended).toEqual([]);
}

test('a ledger rebuilt after any history has the same head and rows, no fault, and can be published on', {
  timeout: Math.max(120_000, HISTORIES * 2_000),
}, async () => {
  const client = replica();
  const folder = temporaryFolder();
  await fc.assert(
    fc.asyncProperty(histories(STEPS), fc.nat(999), async (steps, seed) => {
      const original = fresh();
      const id = String(original.prepare("SELECT value FROM ledger_meta WHERE name = 'ledger_id'").pluck().get());
      const player = new HistoryPlayer(original);
      for (const [index, step] of steps.entries()) {
        await player.take(step);
        await interfere(original, seed + index * 7, player.nowMs);
        if (index % 5 === seed % 5) await send(original, player.nowMs);
      }
      await send(original, player.nowMs);
      const file = join(folder, `${id}.db`);
      const signal = new AbortController().signal;
      await rebuildLedger({ client, ledgerId: id, file, version: '0.0.0', nowMs: player.nowMs, signal });
      const rebuilt = openForWriting(file);
      try {
        expect(verifyLedger(rebuilt, [checkMoney]).faults).toEqual(verifyLedger(original, [checkMoney]).faults);
        expect(headOfChain(rebuilt)).toEqual(headOfChain(original));
        await interfere(rebuilt, seed, player.nowMs + 1);
        await publishLedger({ connection: rebuilt, client, by: 'test', nowMs: player.nowMs });
        await expectSameTables(rebuilt, client, 'rebuilt');
      } finally {
        rebuilt.close();
        original.close();
      }
    }),
    { seed: SEED, numRuns: HISTORIES },
  );
});

function fresh(): Database.Database {
  const connection = new Database(':memory:');
  migrateLedger(connection, ':memory:', '0.0.0', 0);
  connection.prepare("UPDATE ledger_meta SET value = ? WHERE name = 'ledger_id'").run(randomUUID());
  return connection;
}
