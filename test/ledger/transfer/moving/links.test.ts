import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { isoTime } from '../../../../src/core/clock.ts';
import { CheckpointLog, keyFileOf } from '../../../../src/ledger/audit/anchor/checkpoint-log.ts';
import { linkAt } from '../../../../src/ledger/journal/links.ts';
import { usageAsOf } from '../../../../src/ledger/journal/runs/as-of.ts';
import { headOfChain } from '../../../../src/ledger/journal/runs/digest.ts';
import type { LedgerConnection } from '../../../../src/ledger/store/file/open.ts';
import { ledgerId } from '../../../../src/ledger/store/schema/identity.ts';
import { ledgerCommands } from '../../../../src/writer/commands/ledger-commands.ts';
import { plainDesk } from '../../../../src/writer/open-desk.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { writerOn } from '../../../support/run/real-run.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { NOON } from '../../../support/time/test-clock.ts';
import { bringIn, exported, faultsOf, freshLedger } from './moving-world.ts';

const HOUR = 3_600_000;
const MOVE = { workspaceId: 'ws-1', by: 'Ada' };
const MUTE = { kind: 'silence' as const, rule: '*', tenant: '*', period: '*', upToCredits: null, reason: '' };

/** The row changes up to which links cover them, against all that there are. */
function unsealed(connection: LedgerConnection): number {
  return connection
    .prepare(
      `SELECT (SELECT max(change_seq) FROM row_changes) - max(last) FROM (
         SELECT max(last_change_seq) AS last FROM runs UNION ALL SELECT max(last_change_seq) FROM workspace_moves)`,
    )
    .pluck()
    .get() as number;
}

test('an export and a keeping are links that cover all row changes before them, and leave checkpoints', async () => {
  const { connection, path } = openLedger();
  const checkpoints = new CheckpointLog(path, { keyFile: keyFileOf(path), ledgerId: ledgerId(connection) });
  const desk = { ...plainDesk(connection), checkpoints };
  await publish(connection, [usageRecord('acme', 5)]);
  await writerOn(connection).call('addSilence', {
    ...{ ...MUTE, workspaceId: null, untilMs: NOON + HOUR, by: 'Ada', nowMs: NOON },
  });
  expect(unsealed(connection)).toBe(1);
  const sealed = ledgerCommands.sealWorkspace(desk, { ...MOVE, nowMs: NOON + HOUR });
  expect(sealed).toMatchObject({ link: { seq: 2 }, checkpointFault: null });
  // Its own row: the line of the link says all of it.
  expect(unsealed(connection)).toBe(1);
  expect(headOfChain(connection)).toEqual(sealed.link);
  expect(linkAt(connection, 2)).toMatchObject({ at: isoTime(NOON + HOUR) });
  expect(ledgerCommands.sealWorkspace(desk, { ...MOVE, nowMs: NOON + 2 * HOUR }).link).toBeNull();
  const kept = ledgerCommands.keepWorkspace(desk, { ...MOVE, nowMs: NOON + 3 * HOUR, from: null });
  expect(headOfChain(connection)).toEqual({ seq: 3, digest: kept.digest });
  await publish(connection, [usageRecord('acme', 6)], { nowMs: NOON + 4 * HOUR });
  expect([headOfChain(connection).seq, unsealed(connection), faultsOf(connection)]).toEqual([4, 0, []]);
  const notes = readFileSync(join(dirname(path), 'checkpoints.log'), 'utf8');
  expect(notes.match(/^\d+$/gm)).toEqual(['2', '3']);
});

test('an import is the link after those that it has brought, and the next run covers nothing that it has covered', async () => {
  const [origin, target] = [freshLedger(), freshLedger()];
  await publish(origin, [usageRecord('acme', 5)]);
  await publish(target, [usageRecord('acme', 7)], { workspaceId: 'ws-0' });
  const { headDigest, links } = bringIn(target, await exported(origin, temporaryFolder(), NOON), NOON + HOUR);
  expect(headOfChain(target)).toEqual({ seq: 1 + links + 1, digest: headDigest });
  expect(target.prepare('SELECT action, move_seq FROM workspace_moves').raw().all()).toEqual([['import', 3]]);
  await publish(target, [usageRecord('acme', 6)], { nowMs: NOON + 2 * HOUR });
  expect([unsealed(target), faultsOf(target)]).toEqual([0, []]);
});

test('a move counts in what a ledger said at a time, like a run or a close', async () => {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('acme', 5)], { nowMs: NOON });
  // By a clock that is ahead, and is put right before the export.
  await publish(connection, [usageRecord('acme', 6)], { nowMs: NOON + 9 * HOUR });
  const creditsAt = (ms: number) => usageAsOf(connection, isoTime(ms)).map((row) => row.credits_used);
  expect(creditsAt(NOON + HOUR)).toEqual([5n]);
  ledgerCommands.sealWorkspace(plainDesk(connection), { ...MOVE, nowMs: NOON + HOUR });
  expect([creditsAt(NOON + HOUR - 1), creditsAt(NOON + HOUR)]).toEqual([[5n], [6n]]);
});

test('moves from before they were links stay as they are, and the chain goes on behind them', async () => {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('acme', 5)]);
  const { seq, digest } = headOfChain(connection);
  const insert = connection.prepare(
    'INSERT INTO workspace_moves (workspace_key, action, at, actor, position, head_digest) VALUES (1, ?, ?, ?, ?, ?)',
  );
  for (const action of ['export', 'keep']) insert.run(action, isoTime(NOON), 'Ada', seq, digest);
  expect([headOfChain(connection).seq, faultsOf(connection)]).toEqual([1, []]);
  await publish(connection, [usageRecord('acme', 6)], { nowMs: NOON + HOUR });
  ledgerCommands.sealWorkspace(plainDesk(connection), { ...MOVE, nowMs: NOON + 2 * HOUR });
  expect([headOfChain(connection).seq, faultsOf(connection)]).toEqual([3, []]);
});

test('two workspaces of one ledger take a silence of all along, each as its own, and it goes on muting both', async () => {
  const [origin, target] = [freshLedger(), freshLedger()];
  for (const workspaceId of ['ws-1', 'ws-2']) await publish(origin, [usageRecord('acme', 5)], { workspaceId });
  const all = { ...MUTE, workspaceId: null, untilMs: NOON + 99 * HOUR, by: 'Ada', nowMs: NOON };
  await writerOn(origin).call('addSilence', all);
  await writerOn(origin).call('addSilence', { ...all, tenant: 'globex' });
  for (const workspaceId of ['ws-1', 'ws-2']) {
    bringIn(target, await exported(origin, temporaryFolder(), NOON, workspaceId), NOON + HOUR);
  }
  const silences = target
    .prepare('SELECT tenant, workspace_key, silence_id FROM silences ORDER BY workspace_key')
    .all();
  expect(silences).toEqual([
    { tenant: '*', workspace_key: 1, silence_id: expect.stringMatching(/^silence_.*_1$/) },
    { tenant: '*', workspace_key: 2, silence_id: expect.stringMatching(/^silence_.*_2$/) },
  ]);
  expect(faultsOf(target)).toEqual([]);
});
