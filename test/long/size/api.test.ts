import { expect, test } from 'vitest';
import { addPeriods, periodAt } from '../../../src/core/period.ts';
import { type Measured, median, percentile, printProgress, startLargeDaemon } from './large-daemon.ts';
import { MANY_RECORDS, MAX_BLOCKED_MS, MAX_LIST_MS } from './sizes.ts';

const OTHER_CARD = { name: 'dearer', currency: 'EUR', from_period: '2020-01', price_per_credit: '0.02' };
const READS_OF_A_LIST = 20;
const READS_OF_SUMS = 3;
const POLLS = 300;
const MAX_POLL_MS = 2;
/** A stream keeps a page of rows and no more. */
const MAX_STREAM_MB = 80;

test('the API of a million records answers lists at once while a workspace is read, and streams in flat memory', async () => {
  const { daemon, ask, measure, sync } = await startLargeDaemon(MANY_RECORDS);
  const month = periodAt(Date.now());
  const previous = addPeriods(month, -1);
  const first = addPeriods(month, -35);
  const lists = [
    ...['/usage', `/usage?period=${previous}`, '/usage?tenant=tenant-2-77', '/tenants', '/tenants/ranking'],
    ...['/tenants/tenant-2-77', '/months', '/months/comparison', '/changes', '/charges', '/corrections', '/closes'],
    ...['/runs', '/runs/latest', '/workspaces', '/alerts', '/silences', '/rates', '/lines', '/head'],
    ...['/reconciliations', '/exports/daily', '/exports/history', '/exports/charge_lines', '/exports/alerts'],
  ];
  /** Reads of whole months take longer, in the thread of slow reads. */
  const sums = [
    ...['/periods', `/periods/${previous}?verify=false`, '/margin', '/budgets', '/exports/month_to_date'],
    ...[`/usage?period=${previous}&as_of=${new Date().toISOString()}&limit=10`],
    ...[`/statements/${first}?workspace=ws-002&limit=10`, `/statements/${first}/tenant-2-77?workspace=ws-002`],
  ];
  let isReading = true;
  let runs = 0;
  const reading = (async () => {
    for (; isReading; runs += 1) await sync();
  })();
  const read = async (path: string, times: number, body?: object) => {
    const question = body === undefined ? {} : { method: 'POST', body };
    const measured = { path, ...(await measure(`/api/v1${path}`, question, times)) };
    printProgress(lineOf(measured));
    return measured;
  };
  const ofLists = [];
  for (const path of lists) ofLists.push(await read(path, READS_OF_A_LIST));
  const ofSums = [];
  for (const path of sums) ofSums.push(await read(path, READS_OF_SUMS));
  ofSums.push(await read('/rates/check', READS_OF_SUMS, { rates: [OTHER_CARD] }));
  ofSums.push(await read('/rates', READS_OF_SUMS, { rates: [OTHER_CARD], dry_run: true }));
  isReading = false;
  await reading;
  const p99 = percentile(
    ofLists.flatMap(({ costsMs }) => costsMs),
    99,
  );
  printProgress(`lists: p99 ${Math.round(p99)} ms, beside ${runs} runs`);

  const streams = [];
  for (const accept of ['application/x-ndjson', 'text/csv']) {
    const { rssMb: beforeMb } = await daemon.read();
    const { status, bytes, ms } = await ask('/api/v1/usage', { headers: { accept }, drop: true });
    const { rssMb, workedMs } = await daemon.read();
    const stream = { accept, status, bytes, growthMb: Math.round(rssMb - beforeMb), workedMs };
    printProgress(`${JSON.stringify(stream)} in ${Math.round(ms)} ms`);
    streams.push(stream);
  }
  const page = `/api/v1/usage?period=${previous}`;
  const { headers } = await ask(page);
  const polls: number[] = [];
  for (let poll = 0; poll < POLLS; poll += 1) {
    const answer = await ask(page, { headers: { 'if-none-match': String(headers.etag) } });
    expect(answer.status).toBe(304);
    polls.push(answer.ms);
  }
  printProgress(`an unchanged poll: ${median(polls).toFixed(2)} ms`);

  const all = [...ofLists, ...ofSums];
  expect(all.filter(({ status }) => status !== 200)).toEqual([]);
  expect(p99).toBeLessThanOrEqual(MAX_LIST_MS);
  expect(all.filter(({ workedMs }) => workedMs > MAX_BLOCKED_MS)).toEqual([]);
  expect(streams.filter(({ growthMb, workedMs }) => growthMb > MAX_STREAM_MB || workedMs > MAX_BLOCKED_MS)).toEqual([]);
  expect(median(polls)).toBeLessThan(MAX_POLL_MS);
});

function lineOf({ path, bytes, leastMs, costsMs, workedMs, mostWorkedMs }: Measured & { path: string }): string {
  const [least, most, worked, mostWorked] = [leastMs, Math.max(...costsMs), workedMs, mostWorkedMs].map(Math.round);
  return `${path}: ${bytes} bytes, least ${least} ms, most ${most} ms, blocked ${worked} ms, at most ${mostWorked} ms`;
}
