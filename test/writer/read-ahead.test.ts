import { readdirSync, readlinkSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { headOfChain } from '../../src/ledger/journal/runs/digest.ts';
import { KEYS_A_READ, readKnown } from '../../src/ledger/journal/runs/known-figures.ts';
import type { StagedRecord } from '../../src/ledger/journal/staging/staged-record.ts';
import { openReader } from '../../src/ledger/store/file/open.ts';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import { ReadAhead, readForWriter } from '../../src/writer/read-ahead.ts';
import type { WriterStart } from '../../src/writer/session.ts';
import { openThreadedWriter } from '../../src/writer/threaded-writer.ts';
import type { Writer } from '../../src/writer/writer.ts';
import { openInProcessWriter } from '../support/in-process-writer.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';
import { listingOf } from '../support/run/listing.ts';
import { realRun } from '../support/run/real-run.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NOON } from '../support/time/test-clock.ts';

const TENANTS = 2 * KEYS_A_READ + 100;

describe('a thread that reads ahead', () => {
  test('gives the keys of a period in their order, as they were before the transaction of who writes', async () => {
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

    expect(rows.map((each) => each.length / 3)).toEqual([KEYS_A_READ, KEYS_A_READ, 100]);
    expect(rows).toEqual(before);
    expect(nextOfMarch()).toBeNull();
  });

  test('gives nothing of a ledger whose chain ends elsewhere, of none, and when it has no time', async () => {
    const { connection, path } = await heldLedger();
    const head = headOfChain(connection);
    const periodKey = connection.prepare('SELECT max(period_key) FROM periods').pluck().get() as number;
    const firstOf = async (where: string, seen: typeof head, waits = true) => {
      const { ahead, asked } = channel(where);
      const next = ahead.begin(periodKey, seen);
      if (waits) await asked();
      return next()?.length ?? null;
    };

    expect(await firstOf(path, head)).toBe(3 * KEYS_A_READ);
    expect(await firstOf(path, { ...head, digest: '0'.repeat(64) })).toBeNull();
    expect(await firstOf(path, { ...head, seq: head.seq + 1 })).toBeNull();
    expect(await firstOf(`${path}.gone`, head)).toBeNull();
    expect(await firstOf(path, head, false)).toBeNull();
  });
});

test('what two threads compare becomes the entries that one would append', async () => {
  const many = 4 * KEYS_A_READ + 100;
  const large = 2n ** 54n;
  const first = Array.from({ length: many }, (_, at) =>
    usageRecord(`t${at}`, at % 500 === 0 ? large + BigInt(at) : at),
  );
  const second = first.flatMap((record, at): StagedRecord[] => {
    if (at % 1000 === 7) return [];
    const usual = [0, -at, at + 1][at % 40] ?? record.credits;
    const largest = at % 500 === 3 ? 2 ** 53 - 1 : usual;
    const credits = at % 500 === 0 ? large + BigInt(at % 1000) : largest;
    return [{ ...record, credits, requests: at % 50 === 0 ? 11 : 10 }];
  });
  second.push(usageRecord('new', 5));
  // What is missing twice is withdrawn, and comes back with the last run.
  const third = [...second, usageRecord('newer', 5)];
  const entriesBy = async (open: (start: WriterStart) => Promise<Writer>) => {
    const path = `${temporaryFolder()}/ledger.db`;
    const writer: Writer = await open({ path, version: '1.0.0', nowMs: NOON });
    onTestFinished(() => writer.close());
    for (const records of [first, second, third, first]) {
      const workspace = { id: 'ws-1', name: 'Test', perPage: 1000 };
      await realRun({ writer, source: listingOf('ws-1', records, 1000), now: () => NOON, workspace });
    }
    const { connection } = openLedger(path);
    const entries = connection.prepare(
      `SELECT run_key, kind, credits_delta, requests_delta, credits_after, requests_after, tenant_id
       FROM usage_entries JOIN tenants USING (tenant_key) ORDER BY run_key, tenant_key`,
    );
    return { entries: entries.safeIntegers().raw().all() as unknown[][], files: openFiles(path) };
  };

  const byTwo = await entriesBy(openThreadedWriter);
  const byOne = await entriesBy(openInProcessWriter);

  // As text, for to compare a hundred thousand rows of a failed test one by one takes minutes.
  expect(byTwo.entries.join('\n') === byOne.entries.join('\n')).toBe(true);
  expect(new Set(byTwo.entries.map(([, kind]) => kind))).toEqual(new Set([1n, 2n, 3n, 4n, 5n]));
  // The connection that has read ahead.
  expect(byTwo.files - byOne.files).toBe(process.platform === 'linux' ? 1 : 0);
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
    isLast = rows.length < 3 * KEYS_A_READ;
    after = rows[rows.length / 3 - 1] ?? after;
    reads.push([...rows]);
  }
  return reads;
}

/** How often this process has a file open; 0 where the system does not say. */
function openFiles(path: string): number {
  if (process.platform !== 'linux') return 0;
  const links = readdirSync('/proc/self/fd').map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      return null;
    }
  });
  return links.filter((link) => link === path).length;
}
