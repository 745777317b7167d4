import { generateKeyPairSync } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { originOf } from '../../../src/ledger/audit/anchor/checkpoint.ts';
import { type NoteVerifier, verifierOf } from '../../../src/ledger/audit/anchor/signed-note.ts';
import { endWorkspace } from '../../../src/ledger/journal/end-workspace.ts';
import type { LedgerConnection } from '../../../src/ledger/store/file/open.ts';
import { ledgerId } from '../../../src/ledger/store/schema/identity.ts';
import { verifyReplica } from '../../../src/publish/receive/verify-replica.ts';
import { MIRRORS } from '../../../src/publish/replica/mirrors.ts';
import { OWN_TABLES } from '../../../src/publish/replica/statements.ts';
import { publishLedger } from '../../../src/publish/send/publish-ledger.ts';
import { recentCheckpoints } from '../../../src/publish/send/recent-checkpoints.ts';
import { anchoredLedger, ownKey } from '../../ledger/audit/anchor/anchored-ledger.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { fileReplica } from '../file-replica.ts';

const replica = fileReplica('fakes');
beforeEach(() => replica().query(`TRUNCATE ${[...OWN_TABLES, ...MIRRORS.map(({ name }) => name)].join(', ')}`));

function send(connection: LedgerConnection, path: string, elsewhere: readonly string[] = []) {
  const checkpoints = recentCheckpoints(path, ledgerId(connection));
  return publishLedger({ connection, client: replica(), checkpoints, elsewhere, by: 'test', nowMs: NOON });
}

async function verify(
  { connection, path }: { connection: LedgerConnection; path: string },
  others: readonly NoteVerifier[] = [],
  elsewhere: readonly string[] = [],
) {
  const { faults, unproven } = await verifyReplica({
    ...{ client: replica(), connection, ledgerPath: path, elsewhere, others, version: '0.0.0', nowMs: NOON },
    ...{ verifier: ownKey(connection, path), signal: new AbortController().signal },
  });
  return { faults: faults.map(({ message }) => message), unproven };
}

test('a ledger that never was is told: nobody here knows its key, and with a key nobody has signed it', async () => {
  const own = await anchoredLedger();
  await send(own.connection, own.path);
  expect(await verify(own)).toEqual({ faults: [], unproven: [] });
  const { connection: fake, path } = openLedger();
  await publish(fake, [usageRecord('acme', 1_000_000)], { workspaceId: 'ws-fake' });
  await send(fake, path);
  const id = ledgerId(fake);
  expect(await verify(own)).toEqual({
    faults: [],
    unproven: [`ledger ${id}: nobody here knows its key, so anybody may have made it up: give --checkpoint-key`],
  });
  const { publicKey } = generateKeyPairSync('ed25519');
  const key = verifierOf(originOf(id), publicKey);
  expect(await verify(own, [key])).toEqual({
    faults: [`in the replica, ledger ${id}: nobody with the key ${originOf(id)} has signed links 1 to 1`],
    unproven: [],
  });
  await replica().query('DELETE FROM ledgers WHERE ledger_id = $1', [id]);
  expect((await verify(own)).faults).toEqual([
    expect.stringMatching(/usage_entries.*: rows of no ledger of `ledgers`/),
  ]);
  expect(await replica().query("SELECT 1 FROM finance_usage WHERE workspace_id = 'ws-fake'")).toEqual([]);
});

test("another machine's ledger stands as far as that machine has signed, whatever was written to it since", async () => {
  const own = await anchoredLedger();
  await send(own.connection, own.path);
  const other = await anchoredLedger();
  await publish(other.connection, [usageRecord('acme', 7)], { workspaceId: 'ws-other', nowMs: NOON + 999_000 });
  await send(other.connection, other.path);
  const key = ownKey(other.connection, other.path);
  expect((await verify(own, [key])).faults).toEqual([
    `in the replica, ledger ${other.id}: nobody with the key ${originOf(other.id)} has signed links 4 to 4`,
  ]);
  await replica().query(
    'UPDATE tenant_usage SET credits_used = credits_used + 1 WHERE ledger_key = (SELECT ledger_key FROM ledgers WHERE ledger_id = $1)',
    [other.id],
  );
  expect((await verify(own, [key])).faults.join('\n')).toMatch(
    new RegExp(`in the replica, ledger ${other.id}: .*acme`),
  );
});

test('what `ledgers` says of workspaces that others do is what this host has published', async () => {
  const own = await anchoredLedger();
  await send(own.connection, own.path);
  await replica().query("UPDATE ledgers SET elsewhere = '{ws-1}'");
  expect((await verify(own)).faults).toEqual([
    `in the replica: ledgers (ledger_id "${own.id}"): elsewhere is ["ws-1"], and not []`,
  ]);
  await send(own.connection, own.path);
  expect((await verify(own)).faults).toEqual([]);
});

test('a workspace that another ledger is said to leave to others is not proven by that, and is no fault where its host says so', async () => {
  const own = await anchoredLedger();
  await send(own.connection, own.path);
  const other = await anchoredLedger();
  await send(other.connection, other.path);
  const key = ownKey(other.connection, other.path);
  expect(await verify(own, [key])).toEqual({ faults: [], unproven: [] });
  // The views show the own ledger's then, whoever was first.
  await replica().query("UPDATE ledgers SET elsewhere = '{ws-1}' WHERE ledger_id = $1", [other.id]);
  const words = `ledger ${other.id}: that it leaves "ws-1" to others, only its row of \`ledgers\` says: ask by \`verify --replica\` on its machine`;
  expect(await verify(own, [key])).toEqual({ faults: [], unproven: [words] });
  // Its host tells it as a fault, and its next publish mends it.
  expect((await verify(other, [ownKey(own.connection, own.path)])).faults).toEqual([
    `in the replica: ledgers (ledger_id "${other.id}"): elsewhere is ["ws-1"], and not []`,
  ]);
  await send(other.connection, other.path);
  expect(await verify(own, [key])).toEqual({ faults: [], unproven: [] });
  // What it has ended, its rows say.
  const end = { workspaceId: 'ws-1', by: 'Ada', note: 'split', elsewhere: true, nowMs: NOON + 999_000 };
  endWorkspace(other.connection, end, () => undefined);
  await send(other.connection, other.path);
  expect((await verify(own, [key])).unproven).toEqual([]);
});

test('a mark that skips entries is told, and everything is sent again', async () => {
  const own = await anchoredLedger();
  await send(own.connection, own.path);
  await replica().query('UPDATE ledgers SET last_entry_id = last_entry_id + 1000');
  expect((await verify(own)).faults).toEqual([
    `in the replica: ledgers (ledger_id "${own.id}"): last_entry_id is 1003, and not 3`,
  ]);
  const { mended } = await send(own.connection, own.path);
  expect(mended).toEqual(['its last entry_id is 1003, that of its rows 3: all was sent again']);
  expect((await verify(own)).faults).toEqual([]);
});

test('checkpoints that were emptied are told one by one, and are there again with the next publish', async () => {
  const own = await anchoredLedger();
  await send(own.connection, own.path);
  await replica().query('DELETE FROM checkpoints');
  expect((await verify(own)).faults).toEqual(
    [1, 2, 3].map((seq) => `checkpoints (seq ${seq}): missing; checkpoints.log has it`),
  );
  expect((await send(own.connection, own.path)).mended).toEqual([
    'the checkpoint of link 1 was missing',
    'the checkpoint of link 2 was missing',
  ]);
  expect((await verify(own)).faults).toEqual([]);
});
