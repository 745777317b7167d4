import { setImmediate } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { headOfChain } from '../../src/ledger/journal/runs/digest.ts';
import { KEYS_PER_READ, readKnown } from '../../src/ledger/journal/runs/known-figures.ts';
import { openReader } from '../../src/ledger/store/file/open.ts';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import { ReadAhead, readForWriter } from '../../src/writer/read-ahead.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';

const TENANTS = 2 * KEYS_PER_READ + 100;

describe('a thread that reads ahead', () => {
  test("returns the keys of a period in order, as they were before the writer's transaction", async () => {
    const { connection, path } = await heldLedger();
    const { ahead, asked } = channel(path);
    const [march, april] = connection.prepare('SELECT period_key FROM periods ORDER BY 1').pluck().all() as number[];
    const before = allKeys(connection, april ?? 0);
    connection.exec('BEGIN IMMEDIATE');
    connection.exec('UPDATE tenant_usage SET credits_used = credits_used + 1');

    const nextOfMarch = ahead.begin(march ?? 0, headOfChain(connection));
    await asked();
    const next = ahead.begin(april ?? 0, headOfChain(connection));
    const rows: number[][] = [];
    for (let read = 0; read < 3; read += 1) {
      await asked();
      rows.push([...(next() ?? [])]);
    }

    expect(rows.map((each) => each.length / 3)).toEqual([KEYS_PER_READ, KEYS_PER_READ, 100]);
    expect(rows).toEqual(before);
    expect(nextOfMarch()).toBeNull();
  });

  test('returns nothing for a ledger with another head, for a missing one, and when it has no time', async () => {
    const { connection, path } = await heldLedger();
    const head = headOfChain(connection);
    const periodKey = connection.prepare('SELECT max(period_key) FROM periods').pluck().get() as number;
    const firstOf = async (where: string, seen: typeof head, waits = true) => {
      const { ahead, asked } = channel(where);
      const next = ahead.begin(periodKey, seen);
      if (waits) await asked();
      return next()?.length ?? null;
    };

    expect(await firstOf(path, head)).toBe(3 * KEYS_PER_READ);
    expect(await firstOf(path, { ...head, digest: '0'.repeat(64) })).toBeNull();
    expect(await firstOf(path, { ...head, seq: head.seq + 1 })).toBeNull();
    expect(await firstOf(`${path}.gone`, head)).toBeNull();
    expect(await firstOf(path, head, false)).toBeNull();
  });
});

async function heldLedger() {
  const ledger = openLedger();
  const months = ['2026-03', '2026-04'].map((period, more) =>
    Array.from({ length: TENANTS }, (_, at) => usageRecord(`t${at}`, at + more, period)),
  );
  await publish(ledger.connection, months.flat());
  return ledger;
}

function channel(path: string) {
  const { port1, port2 } = new MessageChannel();
  const sent = new Int32Array(new SharedArrayBuffer(4));
  const end = readForWriter({ port: port1, sent }, () => openReader(path));
  onTestFinished(end);
  const asked = async () => {
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
  };
  return { ahead: new ReadAhead({ port: port2, sent }), asked };
}

function allKeys(connection: LedgerDb, periodKey: number): number[][] {
  const reads: number[][] = [];
  for (let after = 0, isLast = false; !isLast; ) {
    const rows = readKnown(connection, periodKey, after);
    isLast = rows.length < 3 * KEYS_PER_READ;
    after = rows[rows.length / 3 - 1] ?? after;
    reads.push([...rows]);
  }
  return reads;
}
