import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemRandomness } from '../../src/core/randomness.ts';
import type { WriterOptions } from '../../src/writer/session.ts';
import { startThread } from '../../src/writer/start-thread.ts';
import { openThreadedWriter, ThreadedWriter } from '../../src/writer/threaded-writer.ts';
import { createWriter, type Writer } from '../../src/writer/writer.ts';
import { openInProcessWriter } from '../support/in-process-writer.ts';
import { openLedger } from '../support/open-ledger.ts';
import { rejection } from '../support/rejection.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NOON } from '../support/time/test-clock.ts';

// cspell:ignore abababab abababababab

const CLAIM = {
  workspaceId: 'ws-1',
  workspaceName: 'Test',
  kind: 'manual',
  slot: null,
  window: { from: null, to: null },
  nowMs: NOON,
} as const;

const CLOSE = 'close' as 'claimRun';

describe.each([
  { where: 'in a thread of its own', open: openThreadedWriter },
  { where: 'in the process', open: openInProcessWriter },
])('a writer $where', ({ open }) => {
  test('returns errors with name, code, hint and fields, but without their class', async () => {
    const writer = await openWriter();
    await writer.claimRun(CLAIM);

    const error = await rejection(writer.claimRun(CLAIM));

    const facts = { name: 'LeaseHeldError', code: 'lease_held', retryable: true, retryAfterMs: 60_000 };
    expect(error).toMatchObject(facts);
    expect(error.constructor.name).toBe('AppError');
    expect('hint' in error && error.hint).toContain('wait until that run ends');
  });

  test('refuses a newer ledger, naming the required version', async () => {
    const { connection, path } = openLedger();
    connection.prepare('INSERT INTO schema_migrations VALUES (?, ?, ?, ?)').run(9e12, 'x', '99.1.0', 'later');

    const error = await rejection(open({ ...freshStart(), path }));

    expect(error).toMatchObject({ code: 'ledger_newer', hint: 'install usage-ledger 99.1.0 or later' });
  });

  test('executes the commands before the close and refuses later ones', async () => {
    const writer = await openWriter();
    const claimed = writer.claimRun(CLAIM);
    const closed = writer.close();

    expect(await claimed).toMatchObject({ workspaceId: 'ws-1' });
    await closed;
    expect(await writer.ended).toBeNull();
    expect(writer.close()).toBe(closed);
    expect(await rejection(writer.claimRun(CLAIM))).toMatchObject({ code: 'writer_closed' });
  });

  test('executes commands in order, one after the other, whichever is awaited', async () => {
    const writer = await openWriter();
    const order: string[] = [];
    const given = ['a', 'b', 'c', 'a'].map((name) =>
      writer.claimRun({ ...CLAIM, workspaceId: name, workspaceName: name }).then(
        (run) => order.push(`${name} ${'runKey' in run ? run.runKey : ''}`),
        () => order.push(`${name} refused`),
      ),
    );
    order.push('given');
    await Promise.all(given);

    expect(order).toEqual(['given', 'a 1', 'b 2', 'c 3', 'a refused']);
  });

  test('moves transferred buffers away from the caller, and keeps no reference to its answers', async () => {
    const writer = await openWriter();
    const run = await claimed(writer);
    await writer.beginWalk({ runKey: run.runKey });
    const text =
      '{"message":"","success":true,"data":{"workspace_id":"ws-1","usage":[],"total_records":0,"total_pages":0}}';
    const body = Uint8Array.from(Buffer.from(text)).buffer;

    const receipt = await writer.stagePage({ runKey: run.runKey, page: 1, body }, [body]);

    expect(receipt).toEqual({ records: 0, newKeys: 0, totalPages: 0, totalRecords: 0, unchanged: false });
    expect(body.byteLength).toBe(0);
    Object.assign(run, { fencingToken: 99 });
    expect(await writer.renewLease({ runKey: run.runKey, nowMs: NOON })).toBe(true);
  });

  test('releases a run with its staging even when its failure cannot be written', async () => {
    const start = freshStart();
    const writer = await open(start);
    onTestFinished(() => writer.close());
    const { runKey } = await claimed(writer);
    const { connection } = openLedger(start.path);
    connection.exec("CREATE TRIGGER full BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'no room'); END");
    const failure = { status: 'failed', code: 'network', message: '', pages: 0, records: 0 } as const;
    const fail = () => rejection(writer.failRun({ runKey, failure, fault: null, nowMs: NOON }));

    expect(await fail()).toMatchObject({ name: 'SqliteError', message: 'no room', code: 'internal' });
    expect((await fail()).message).toContain('is not open');
  });

  test('raises no alert for a run that fails after another one has taken its workspace', async () => {
    const writer = await openWriter();
    const { runKey: overtaken } = await claimed(writer);
    const nowMs = NOON + 5 * 60_000;
    const next = await writer.claimRun({ ...CLAIM, nowMs });
    if (!('runKey' in next)) throw new Error('the workspace was not claimed');
    const failure = { status: 'failed', code: 'unauthorized', message: '', pages: 0, records: 0 } as const;
    const fault = { code: 'unauthorized', message: 'answered 401', retryable: false, clockSkewMs: 0 };

    const fail = (runKey: number) => writer.failRun({ runKey, failure, fault, nowMs });
    expect((await fail(overtaken)).changes).toEqual([]);
    expect((await fail(next.runKey)).changes).toHaveLength(1);
  });

  test('rejects an argument that cannot cross threads for its caller only, and executes the other commands', async () => {
    const writer = await openWriter();
    const before = writer.claimRun(CLAIM);
    const uncloneable = { ...CLAIM, workspaceId: 'ws-2', workspaceName: (() => '') as never };
    const broken = rejection(writer.claimRun(uncloneable));
    const after = writer.claimRun({ ...CLAIM, workspaceId: 'ws-3' });

    expect(await before).toMatchObject({ workspaceId: 'ws-1' });
    expect((await broken).name).toBe('DataCloneError');
    expect(await after).toMatchObject({ workspaceId: 'ws-3' });
  });

  const openWriter = () => openWith(open);
});

test('a thread may be started before its ledger is known; without a ledger it refuses to work', async () => {
  const thread = startThread();
  const unopened = new ThreadedWriter(startThread());
  expect((await rejection(createWriter(unopened).claimRun(CLAIM))).message).toBe('no ledger is open for claimRun');
  await unopened.end();
  expect(await unopened.ended).toBeNull();

  const writer = await openThreadedWriter(freshStart(), thread);

  expect(await writer.claimRun(CLAIM)).toMatchObject({ workspaceId: 'ws-1' });
  await writer.close();
  expect(await thread.ended).toBeNull();
});

test('a thread that has ended before its use reports it', async () => {
  const thread = startThread();
  await thread.worker.terminate();

  expect((await rejection(openThreadedWriter(freshStart(), thread))).message).toBe("the ledger's writer has ended");
});

test('once the thread has ended by itself, calls and the close fail instead of waiting for ever', async () => {
  const port = await openPort();
  const writer = createWriter(port);
  // The thread's own message for closing, behind the back of this side.
  await port.call(CLOSE, undefined as never);
  await expect.poll(() => rejection(writer.claimRun(CLAIM))).toMatchObject({ code: 'writer_closed' });
  await writer.close();
});

test('a closed writer has ended normally, one with a dead thread reports the error', async () => {
  const closed = await openWith(openThreadedWriter);
  await closed.close();
  expect(await closed.ended).toBeNull();

  const dying = await openPort();
  await dying.call(CLOSE, undefined as never);
  expect(await dying.ended).toMatchObject({ code: 'writer_closed' });
});

test('an in-process writer claims under the given identity and randomness', async () => {
  const start = freshStart();
  const holder = { host: 'host-1', pid: 7, start: 'boot:1' };
  const bytes = (count: number): Buffer => Buffer.alloc(count, 0xab);
  const first = await openInProcessWriter(start, { holder, randomness: { ...systemRandomness, bytes } });
  const second = await openInProcessWriter(start, { holder: { ...holder, host: 'host-2' } });
  onTestFinished(async () => void (await Promise.all([first.close(), second.close()])));

  expect((await claimed(first)).runId).toBe('run_20260320T120000000Z_abababab');
  expect((await rejection(second.claimRun(CLAIM))).message).toContain('process 7 on host-1');
  // Of its own host a process knows that no such process runs.
  const again = await openInProcessWriter(start, { holder: { ...holder, pid: 8 } });
  onTestFinished(() => again.close());
  expect(await claimed(again)).toMatchObject({ fencingToken: 2 });
  const everything = { workspaceId: null, rule: '*', tenant: '*', period: '*', upToCredits: null };
  const silence = { kind: 'silence', ...everything, reason: '', by: 'Ada', untilMs: NOON + 1, nowMs: NOON } as const;
  expect(await first.addSilence(silence)).toBe('silence_abababababab');
});

function freshStart(): WriterOptions {
  return { path: join(temporaryFolder(), 'ledger.db'), version: '1.0.0', nowMs: NOON };
}

async function openWith(open: (start: WriterOptions) => Promise<Writer>): Promise<Writer> {
  const writer = await open(freshStart());
  onTestFinished(() => writer.close());
  return writer;
}

async function openPort(): Promise<ThreadedWriter> {
  const port = new ThreadedWriter();
  await port.open(freshStart());
  onTestFinished(() => port.close());
  return port;
}

async function claimed(writer: Writer) {
  const run = await writer.claimRun(CLAIM);
  if (!('runKey' in run)) throw new Error('the run must be new');
  return run;
}
