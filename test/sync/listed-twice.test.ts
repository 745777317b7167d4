import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { AppError } from '../../src/core/errors.ts';
import { digestOfPage } from '../../src/ledger/journal/staging/page-log.ts';
import type { StagedRecord } from '../../src/ledger/journal/staging/staged-record.ts';
import { RunStaging } from '../../src/ledger/journal/staging/staging.ts';
import type { UsageSource } from '../../src/sync/sync-deps.ts';
import { createScanner } from '../speed/scanned-pages.ts';
import { openLedger } from '../support/open-ledger.ts';
import { rejection } from '../support/rejection.ts';
import { listingOf } from '../support/run/listing.ts';
import { realRun, writerOn } from '../support/run/real-run.ts';
import { startFixture } from '../support/sandbox-fixture.ts';
import { NOON } from '../support/time/test-clock.ts';

const row = (tenantId: string, period = '2026-11', credits = 100): StagedRecord => ({
  tenantId,
  period,
  credits,
  requests: 10,
});
const ROWS = ['acme', 'b', 'c', 'd', 'e', 'f'].map((id) => row(id));
const [acme, b, c, d, e, f] = ROWS as [
  StagedRecord,
  StagedRecord,
  StagedRecord,
  StagedRecord,
  StagedRecord,
  StagedRecord,
];

async function failureOf(source: UsageSource, perPage: number): Promise<AppError> {
  const { connection } = openLedger();
  const run = realRun({
    writer: writerOn(connection),
    source,
    now: () => NOON,
    workspace: { id: 'ws-1', perPage, concurrency: 1, consistency: 'twice' },
    window: { from: '2026-10', to: '2026-11' },
  });
  const error = (await rejection(run)) as AppError;
  expect(connection.prepare('SELECT count(*) FROM finance_usage').pluck().get()).toBe(0);
  return error;
}

test.each<[string, StagedRecord[], number, string]>([
  ['twice on one page', [acme, acme], 2, 'tenant "acme" is listed twice for 2026-11 (page 1)'],
  ['on two pages', [acme, b, c, acme], 2, 'tenant "acme" is listed twice for 2026-11 (pages 1 and 2)'],
  ['three times', [acme, b, acme, c, d, acme], 2, 'tenant "acme" is listed 3 times for 2026-11 (pages 1, 2 and 3)'],
  [
    'in two periods',
    [acme, acme, row('acme', '2026-10'), row('acme', '2026-10')],
    4,
    'tenant "acme" is listed twice for 2026-11 (page 1); tenant "acme" is listed twice for 2026-10 (page 1)',
  ],
  [
    'with other figures',
    [acme, b, row('acme', '2026-11', 250), c],
    2,
    'tenant "acme" is listed twice for 2026-11 with different figures (pages 1 and 2)',
  ],
  [
    'with a name that acts',
    [row('a\u001b[1m'), row('a\u001b[1m')],
    2,
    String.raw`tenant "a\u001b[1m" is listed twice for 2026-11 (page 1)`,
  ],
  [
    'four tenants',
    [acme, b, c, d, acme, b, c, d],
    8,
    'tenant "acme" is listed twice for 2026-11 (page 1); tenant "b" is listed twice for 2026-11 (page 1); tenant "c" is listed twice for 2026-11 (page 1); 4 records in all are repetitions',
  ],
  [
    'whole pages',
    [acme, b, acme, b],
    2,
    'pages 1 and 2 are identical; tenant "acme" is listed twice for 2026-11 (pages 1 and 2); tenant "b" is listed twice for 2026-11 (pages 1 and 2)',
  ],
])('a run names what is listed more than once: %s', async (_, rows, perPage, why) => {
  const error = await failureOf(listingOf('ws-1', rows, perPage), perPage);
  expect(error).toMatchObject({ code: 'unstable', retryable: true });
  expect(error.message).toBe(`Could not read a consistent listing in 3 attempts: ${why}.`);
});

test.each<[string, (text: string, page: number) => string, string]>([
  ['records missing', (text) => text.replace('"total_records":6', '"total_records":5'), 'expected 5 records, got 6'],
  [
    'totals that change',
    (text, page) => (page === 2 ? text.replace('"total_records":6', '"total_records":7') : text),
    'total_records changed from 6 on page 1 to 7 on page 2',
  ],
  [
    'a month that was not requested',
    (text, page) => (page === 2 ? text.replaceAll('2026-11', '2026-09') : text),
    'page 2 has a record for 2026-09, which was not requested',
  ],
])('a run says what does not match: %s', async (_, change, why) => {
  const listing = listingOf('ws-1', [acme, b, c, d, e, f], 3);
  const source: UsageSource = {
    ...listing,
    async fetchUsagePage(asked, options) {
      const { body } = await listing.fetchUsagePage(asked, options);
      return { body: [Buffer.from(change(Buffer.concat(body).toString(), asked.page))] };
    },
  };
  expect((await failureOf(source, 3)).message).toContain(`in 3 attempts: ${why}`);
});

test('a record that moves to a later page is named with the page where it came again', async () => {
  let walk = 0;
  const source: UsageSource = {
    ...listingOf('ws-1', ROWS, 3),
    fetchUsagePage(asked, options) {
      if (asked.page === 1) walk += 1;
      const again = ROWS[walk - 1] as StagedRecord;
      const rows = asked.page === 1 ? ROWS : [d, e, f, again, e, f];
      return listingOf('ws-1', rows, 3).fetchUsagePage(asked, options);
    },
  };
  expect((await failureOf(source, 3)).message).toContain('tenant "c" is listed twice for 2026-11 (again on page 2)');
});

test('an answer with a record twice is named by a run over HTTP', async () => {
  const { sandbox, sync } = await startFixture({ workspaces: [{ generate: { seed: 5, tenants: 3, months: 1 } }] });
  const body = readFileSync(new URL('../support/run/duplicate-row.json', import.meta.url), 'utf8');
  sandbox.faults.push({ when: { page: 1 }, times: Number.POSITIVE_INFINITY, action: { type: 'body', body } });
  const error = (await rejection(sync({ from: '2026-11', to: '2026-11' }))) as AppError;
  expect(error.code).toBe('unstable');
  expect(error.message).toBe(
    'Could not read a consistent listing in 3 attempts: tenant "acme" is listed twice for 2026-11 (page 1).',
  );
});

test('pages that are scanned instead of parsed show the same repeats', async () => {
  const { connection } = openLedger();
  const staging = new RunStaging(connection, 1, { from: null, to: null });
  const scanner = createScanner();
  const listing = listingOf('ws-1', [acme, b, c, row('acme', '2026-11', 250)], 2);
  for (let walk = 1; walk <= 2; walk += 1) {
    staging.beginWalk();
    for (const page of [2, 1]) {
      const query = { page, perPage: 2, fromPeriod: undefined, toPeriod: undefined };
      const options = { signal: new AbortController().signal, beforeRetry: async () => undefined };
      const body = Buffer.concat((await listing.fetchUsagePage(query, options)).body);
      const plain = scanner.scan(body, { page, workspaceId: 'ws-1' });
      if (plain === null) throw new Error('the page was not scanned');
      staging.stageScanned(page, plain, digestOfPage(body));
    }
    const again = { tenantId: 'acme', period: '2026-11' };
    expect(staging.flaws().repeated).toEqual([
      walk === 1
        ? { ...again, pages: [1], isFirstMissing: true, differs: false }
        : { ...again, pages: [1, 2], isFirstMissing: false, differs: true },
    ]);
  }
});
