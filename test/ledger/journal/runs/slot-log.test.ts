import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { SlotLog } from '../../../../src/ledger/journal/runs/slot-log.ts';
import { StoppingError } from '../../../../src/queue/errors.ts';
import { rejection } from '../../../support/rejection.ts';
import { type Fixture, manualOrder, startFixture, WORKSPACE } from '../../../support/sandbox-fixture.ts';

const SLOTS = ['2026-03-20T11:30:00.000Z', '2026-03-20T11:45:00.000Z', '2026-03-20T12:00:00.000Z'] as const;

/** A run of a slot, which fails with this status unless it is 200. */
async function run(fixture: Fixture, slot: string, status = 200): Promise<void> {
  const order = manualOrder({ kind: 'scheduled', slot });
  if (status !== 200) {
    fixture.sandbox.faults.push({ times: Number.POSITIVE_INFINITY, action: { type: 'status', status } });
    await rejection(fixture.context.sync(order));
    fixture.sandbox.faults.clear();
  } else await fixture.context.sync(order);
}

test('only an applied run does a slot; later failures are counted, with their time and whether the credentials were rejected', async () => {
  const fixture = await startFixture();
  await run(fixture, SLOTS[0]);
  const log = new SlotLog(fixture.context.reader().connection);
  expect(log.record(WORKSPACE, 'scheduled')).toMatchObject({ doneSlot: SLOTS[0], failures: 0 });

  await run(fixture, SLOTS[1], 503);
  expect(log.record(WORKSPACE, 'scheduled')).toEqual({
    ...{ doneSlot: SLOTS[0], failures: 1, refused: false },
    ...{ failedSlot: SLOTS[1], failedRunKey: 2, failedAtMs: fixture.clock.now() },
  });
  fixture.clock.advance(60_000);
  await run(fixture, SLOTS[1], 401);
  const failed = log.record(WORKSPACE, 'scheduled');
  expect(failed).toMatchObject({ doneSlot: SLOTS[0], failures: 2, failedAtMs: fixture.clock.now(), refused: true });
  expect(new SlotLog(fixture.context.reader().connection).record(WORKSPACE, 'scheduled')).toEqual(failed);

  await run(fixture, SLOTS[2]);
  expect(log.record(WORKSPACE, 'scheduled')).toMatchObject({ doneSlot: SLOTS[2], failures: 0, refused: false });
});

test('a new log knows the done slots of each kind, whichever was done last', async () => {
  const fixture = await startFixture();
  await fixture.context.sync(manualOrder({ kind: 'reconcile', slot: SLOTS[0] }));
  await run(fixture, SLOTS[1]);
  await run(fixture, SLOTS[2]);
  const log = new SlotLog(fixture.context.reader().connection);
  expect(log.record(WORKSPACE, 'reconcile')).toMatchObject({ doneSlot: SLOTS[0], failures: 0 });
  expect(log.record(WORKSPACE, 'scheduled')).toMatchObject({ doneSlot: SLOTS[2], failures: 0 });
});

test('records of many workspaces are read once while nothing is written, whatever is running', async () => {
  const fixture = await startFixture();
  await fixture.sync();
  const statements: unknown[] = [];
  const { name } = fixture.context.reader().connection;
  const connection = new Database(name, { readonly: true, verbose: (sql) => statements.push(sql) });
  const log = new SlotLog(connection);
  log.record(WORKSPACE, 'scheduled');
  fixture.sandbox.faults.push({
    action: {
      type: 'before',
      run: () => {
        log.record(WORKSPACE, 'scheduled');
        statements.length = 0;
        for (let index = 0; index < 100; index += 1) log.record(WORKSPACE, 'reconcile');
      },
    },
  });
  await run(fixture, SLOTS[2]);
  // What asks whether something was written is all.
  expect(new Set(statements)).toEqual(new Set(['PRAGMA data_version']));
  expect(log.record(WORKSPACE, 'scheduled')).toMatchObject({ doneSlot: SLOTS[2] });
  connection.close();
});

test('new runs are found by key, however many there are', async () => {
  const fixture = await startFixture();
  await fixture.sync();
  const statements: string[] = [];
  const { name } = fixture.context.reader().connection;
  const connection = new Database(name, { readonly: true, verbose: (sql) => statements.push(String(sql)) });
  const log = new SlotLog(connection);
  log.record(WORKSPACE, 'scheduled');
  await run(fixture, SLOTS[2]);
  statements.length = 0;

  expect(log.record(WORKSPACE, 'scheduled')).toMatchObject({ doneSlot: SLOTS[2] });

  const asked = statements.filter((sql) => sql.includes('runs'));
  const plans = asked.flatMap((sql) => connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]);
  expect(plans.map(({ detail }) => detail)).toContain('SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)');
  expect(plans.filter(({ detail }) => /^SCAN (runs|n)\b/.test(detail))).toEqual([]);
  connection.close();
});

test('an applied manual run ends the failures and does no slot', async () => {
  const fixture = await startFixture();
  await fixture.sync();
  const log = new SlotLog(fixture.context.reader().connection);
  await run(fixture, SLOTS[1], 503);
  await fixture.sync();
  expect(log.record(WORKSPACE, 'scheduled')).toMatchObject({ doneSlot: null, failures: 0 });
});

test('a run ended by a stop does not count as a failure', async () => {
  const fixture = await startFixture();
  await fixture.sync();
  const stop = new AbortController();
  fixture.sandbox.faults.push({ action: { type: 'before', run: () => stop.abort(new StoppingError()) } });
  await rejection(fixture.context.sync(manualOrder({ kind: 'scheduled', slot: SLOTS[2], signal: stop.signal })));
  const log = new SlotLog(fixture.context.reader().connection);
  expect(log.record(WORKSPACE, 'scheduled')).toMatchObject({ doneSlot: null, failures: 0 });
});

test('an unknown workspace has done no slot', async () => {
  const fixture = await startFixture();
  await fixture.sync();
  const log = new SlotLog(fixture.context.reader().connection);
  expect(log.record('another', 'reconcile')).toMatchObject({ doneSlot: null, failures: 0, failedAtMs: null });
});
