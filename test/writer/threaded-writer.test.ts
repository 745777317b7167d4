import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { WriterStart } from '../../src/writer/session.ts';
import { openThreadedWriter, ThreadedWriter } from '../../src/writer/threaded-writer.ts';
import type { Writer } from '../../src/writer/writer.ts';
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

test('a thread may be started before its ledger is known; without a ledger it refuses to work', async () => {
  const thread = new ThreadedWriter();
  expect((await rejection(thread.call('claimRun', CLAIM))).message).toBe('no ledger is open for claimRun');

  const writer = await openThreadedWriter(freshStart(), thread);

  expect(await writer.call('claimRun', CLAIM)).toMatchObject({ workspaceId: 'ws-1' });
  await writer.close();
  await thread.end();
  expect(thread.hasEnded).toBe(true);
});

test('once the thread has ended by itself, calls and the close end instead of waiting for ever', async () => {
  const writer = await openWriter();
  // The thread's own message for closing, behind the back of this side.
  await writer.call('close' as 'claimRun', undefined as never);
  await expect.poll(() => rejection(writer.call('claimRun', CLAIM))).toMatchObject({ code: 'writer_closed' });
  await writer.close();
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

async function openWriter(): Promise<Writer> {
  const writer = await openThreadedWriter(freshStart());
  onTestFinished(() => writer.close());
  return writer;
}
