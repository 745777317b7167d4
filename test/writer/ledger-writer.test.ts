import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { LedgerWriter } from '../../src/writer/ledger-writer.ts';
import { WriterHandle } from '../../src/writer/writer-handle.ts';
import type { WriterStart } from '../../src/writer/writer-messages.ts';
import { openLedger } from '../support/open-ledger.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NOON } from '../support/time/test-clock.ts';

const CLAIM = {
  workspaceId: 'ws-1',
  workspaceName: 'Test',
  kind: 'manual',
  slot: null,
  window: { from: null, to: null },
  nowMs: NOON,
} as const;

test('writers that open one fresh ledger at the same time all succeed, again and again', async () => {
  const alone = await openWriter();
  const migrations = alone.migration.applied;
  for (let round = 0; round < 5; round += 1) {
    const start = freshStart();
    const writers = await Promise.all([LedgerWriter.open(start), LedgerWriter.open(start), LedgerWriter.open(start)]);
    const applied = writers.map(({ migration }) => migration.applied);
    expect(applied.reduce((sum, one) => sum + one)).toBe(migrations);
    await Promise.all(writers.map((writer) => writer.close()));
  }
});

test('a thread may be started before its ledger is known; without a ledger it refuses to work', async () => {
  const thread = new WriterHandle();
  expect((await rejection(thread.send('claimRun', CLAIM))).message).toBe('no ledger is open for claimRun');

  const writer = await LedgerWriter.open(freshStart(), thread);

  expect(await writer.call('claimRun', CLAIM)).toMatchObject({ workspaceId: 'ws-1' });
  await writer.close();
  await thread.end();
  expect(thread.hasEnded).toBe(true);
});

test('a ledger of a newer version is refused with the version that is needed', async () => {
  const { connection, path } = openLedger();
  connection.prepare('INSERT INTO schema_migrations VALUES (?, ?, ?, ?)').run(9e12, 'x', '99.1.0', 'later');

  const thread = new WriterHandle();
  const error = await rejection(LedgerWriter.open({ ...freshStart(), path }, thread));

  expect(error).toMatchObject({ code: 'ledger_newer', hint: 'install usage-ledger 99.1.0 or later' });
  expect(thread.hasEnded).toBe(true);
});

test('errors keep their name, code and remedy across the thread', async () => {
  const writer = await openWriter();
  await writer.call('claimRun', CLAIM);

  expect(await rejection(writer.call('claimRun', CLAIM))).toMatchObject({
    name: 'LeaseHeldError',
    code: 'lease_held',
    retryable: true,
    retryAfterMs: 60_000,
  });
});

test('calls made before the close are carried out, calls after it are refused', async () => {
  const writer = await openWriter();
  const claimed = writer.call('claimRun', CLAIM);
  const closed = writer.close();

  expect(await claimed).toMatchObject({ workspaceId: 'ws-1' });
  await closed;
  expect(writer.close()).toBe(closed);
  expect(await rejection(writer.call('claimRun', CLAIM))).toMatchObject({ code: 'writer_closed' });
});

test('a run whose failure cannot be written is let go of all the same, with all that it had staged', async () => {
  const start = freshStart();
  const writer = await LedgerWriter.open(start);
  onTestFinished(() => writer.close());
  const claimed = await writer.call('claimRun', CLAIM);
  if (!('runKey' in claimed)) throw new Error('the run must be new');
  const { connection } = openLedger(start.path);
  connection.exec("CREATE TRIGGER full BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'no room'); END");
  const failure = { status: 'failed', code: 'network', message: '', pages: 0, records: 0 } as const;
  const fail = () =>
    rejection(writer.call('failRun', { runKey: claimed.runKey, failure, fault: null, channels: [], nowMs: NOON }));

  expect((await fail()).message).toBe('no room');
  expect((await fail()).message).toContain('is not open');
});

test('once the thread has ended by itself, calls and the close end instead of waiting for ever', async () => {
  const writer = await openWriter();
  // The thread's own message for closing, behind the back of this side.
  await writer.call('close' as 'claimRun', undefined as never);
  await expect.poll(() => rejection(writer.call('claimRun', CLAIM))).toMatchObject({ code: 'writer_closed' });
  await writer.close();
});

test('what cannot cross threads is refused to its own caller, and the calls made beside it are carried out', async () => {
  const writer = await openWriter();
  const before = writer.call('claimRun', CLAIM);
  const uncloneable = { ...CLAIM, workspaceId: 'ws-2', workspaceName: (() => '') as never };
  const broken = rejection(writer.call('claimRun', uncloneable));
  const after = writer.call('claimRun', { ...CLAIM, workspaceId: 'ws-3' });

  expect(await before).toMatchObject({ workspaceId: 'ws-1' });
  expect((await broken).name).toBe('DataCloneError');
  expect(await after).toMatchObject({ workspaceId: 'ws-3' });
});

test('a writer that is closed has ended as asked, one whose thread dies says so', async () => {
  const closed = await openWriter();
  await closed.close();
  expect(await closed.ended).toBeNull();

  const dying = await openWriter();
  await dying.call('close' as 'claimRun', undefined as never);
  expect(await dying.ended).toMatchObject({ code: 'writer_closed' });
});

function freshStart(): WriterStart {
  return { path: join(temporaryFolder(), 'ledger.db'), version: '1.0.0', nowMs: NOON };
}

async function openWriter(): Promise<LedgerWriter> {
  const writer = await LedgerWriter.open(freshStart());
  onTestFinished(() => writer.close());
  return writer;
}
