import { readdirSync, readlinkSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { KEYS_PER_READ } from '../../src/ledger/journal/runs/known-figures.ts';
import type { StagedRecord } from '../../src/ledger/journal/staging/staged-record.ts';
import type { WriterStart } from '../../src/writer/session.ts';
import { openThreadedWriter } from '../../src/writer/threaded-writer.ts';
import type { Writer } from '../../src/writer/writer.ts';
import { openInProcessWriter } from '../support/in-process-writer.ts';
import { openLedger, usageRecord } from '../support/open-ledger.ts';
import { listingOf } from '../support/run/listing.ts';
import { realRun } from '../support/run/real-run.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NOON } from '../support/time/test-clock.ts';

test('comparing with two threads appends the same entries as with one', async () => {
  const many = 4 * KEYS_PER_READ + 100;
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
