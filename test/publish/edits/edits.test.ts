import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CheckpointLog, keyFileOf, ownVerifier } from '../../../src/ledger/audit/anchor/checkpoint-log.ts';
import { linkAt } from '../../../src/ledger/journal/links.ts';
import { headOfChain } from '../../../src/ledger/journal/runs/digest.ts';
import { openReader } from '../../../src/ledger/store/file/open.ts';
import { ledgerId } from '../../../src/ledger/store/schema/identity.ts';
import { verifyReplica } from '../../../src/publish/receive/verify-replica.ts';
import { migrateReplica } from '../../../src/publish/replica/migrate-replica.ts';
import { publishLedger } from '../../../src/publish/send/publish-ledger.ts';
import { recentCheckpoints } from '../../../src/publish/send/recent-checkpoints.ts';
import { buildRichLedger } from '../../ledger/audit/verify/tamper/rich-ledger.ts';
import { Random } from '../../support/random.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { fileReplica } from '../file-replica.ts';
import { replicaEdits } from './replica-edits.ts';

const EDITS = Number(process.env.REPLICA_EDITS ?? 8);
const SEED = Number(process.env.REPLICA_SEED ?? Date.now() % 0x7fff_ffff);
const SCHEMA = 'edits';
const replica = fileReplica(SCHEMA);

/** A ledger in a file, with checkpoints beside it, that is published. */
async function publishedLedger() {
  const path = join(temporaryFolder(), 'ledger.db');
  const memory = await buildRichLedger();
  memory.exec(`VACUUM INTO '${path}'`);
  memory.close();
  const { connection } = openReader(path);
  const id = ledgerId(connection);
  const log = new CheckpointLog(path, { keyFile: keyFileOf(path), ledgerId: id });
  const head = headOfChain(connection).seq;
  for (const seq of [head - 2, head - 1, head]) {
    log.note({ seq, digest: linkAt(connection, seq)?.digest ?? '', at: '2026-03-20T12:00:00.000Z' });
  }
  const client = replica();
  const publish = async (replace = false): Promise<readonly string[]> => {
    const mended = await migrateReplica(client, SCHEMA);
    const checkpoints = recentCheckpoints(path, id);
    const report = await publishLedger({ connection, client, checkpoints, replace, by: 'test', nowMs: NOON });
    return [...mended, ...report.mended];
  };
  const verify = async (): Promise<string[]> => {
    const { faults } = await verifyReplica({
      ...{ client, connection, ledgerPath: path, elsewhere: [], others: [], version: '0.0.0', nowMs: NOON },
      ...{ verifier: ownVerifier(keyFileOf(path), id), signal: new AbortController().signal },
    });
    return faults.map(({ message }) => message);
  };
  return { client, publish, verify };
}

test('every view and table that is rewritten, dropped, emptied or faked is told by name, and mended by publish or its remedy', {
  timeout: Math.max(240_000, EDITS * 6_000),
}, async () => {
  const { client, publish, verify } = await publishedLedger();
  await publish();
  expect(await publish()).toEqual([]);
  expect(await verify()).toEqual([]);
  const random = new Random(SEED);
  const all = await replicaEdits(client);
  const drawn = all.map((edit) => ({ edit, place: random.fraction() })).sort((a, b) => a.place - b.place);
  const byPublish = { said: 0, silent: 0 };
  const wrong: string[] = [];
  for (const { edit } of drawn.slice(0, EDITS)) {
    await client.query(edit.sql);
    const told = await verify().catch((error: Error) => [error.message]);
    if (!told.join('\n').includes(edit.name.replace(/s$/, ''))) wrong.push(`not told: ${edit.sql}: ${told.join('; ')}`);
    const mended = await publish().catch(() => []);
    const left = await verify().catch((error: Error) => [error.message]);
    if (left.length === 0) byPublish[mended.length > 0 ? 'said' : 'silent'] += 1;
    else await publish(true);
    const after = left.length === 0 ? [] : await verify().catch((error: Error) => [error.message]);
    if (after.length > 0) wrong.push(`not mended: ${edit.sql}: ${after.join('; ')}`);
  }
  expect(wrong, `REPLICA_SEED=${SEED}`).toEqual([]);
  process.stdout.write(
    `${Math.min(EDITS, all.length)} of ${all.length} edits told; publish alone mended ${JSON.stringify(byPublish)}\n`,
  );
});
