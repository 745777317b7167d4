import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { addPeriods, periodAt } from '../../../src/core/period.ts';
import { median, startLargeDaemon } from './large-daemon.ts';
import { MANY_WORKSPACES, MAX_BLOCKED_MS, MAX_PAGE_BYTES, MAX_PAGE_MS, MAX_SLOWDOWN } from './sizes.ts';

const HTML = { headers: { accept: 'text/html' } };
const ROUNDS = 7;

test('every page of 200 workspaces and 100,000 tenants is quick and small, and does not slow a sync down', async () => {
  const { ask, measure, sync } = await startLargeDaemon(MANY_WORKSPACES);
  const month = periodAt(Date.now());
  const alerts = (await ask('/alerts?sort=worth', HTML)).text;
  const [, alert = ''] = /href="(\/alerts\/alert_[^"?]*)/.exec(alerts) ?? [];
  const [, run = '/runs'] = /href="(\/runs\/[^"?]+)"/.exec((await ask('/runs', HTML)).text) ?? [];
  const paths = [
    ...['/', '/alerts', '/alerts?sort=worth', '/alerts?state=all&page=3', alert, '/alerts/silences'],
    ...['/tenants', '/tenants?sort=change', '/tenants?sort=amount', '/tenants?sort=name', '/tenants?page=500'],
    ...['/tenants?search=Customer', '/tenants?search=nothing+like+it', '/tenants/ws-077/tenant-77-5'],
    ...['/months', `/months/${month}`, `/months/${addPeriods(month, -1)}`, `/months/${addPeriods(month, -35)}`],
    ...['/money', '/runs', '/runs?workspace=ws-077', run, '/system', '/metrics', '/readyz'],
  ];
  const measured = [];
  for (const path of paths) measured.push({ path, ...(await measure(path, HTML)) });
  process.stdout.write(`${table(measured)}\n`);

  const alone: number[] = [];
  const beside: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    alone.push(await sync());
    const looking = new AbortController();
    const looked = look(paths, looking.signal, (path) => ask(path, HTML));
    beside.push(await sync());
    looking.abort();
    await looked;
  }
  const slowdown = median(beside.map((ms, round) => ms / (alone[round] ?? 1)));
  process.stdout.write(`${JSON.stringify({ alone, beside, slowdown })}\n`);

  expect(measured.filter(({ status }) => status !== 200)).toEqual([]);
  expect(measured.filter(({ path, bytes }) => path !== '/metrics' && bytes > MAX_PAGE_BYTES)).toEqual([]);
  // The processor time of the page: on a busy machine it takes longer by the clock.
  expect(measured.filter(({ cpuMs }) => cpuMs > MAX_PAGE_MS)).toEqual([]);
  expect(measured.filter(({ workedMs }) => workedMs > MAX_BLOCKED_MS)).toEqual([]);
  expect(slowdown).toBeLessThanOrEqual(MAX_SLOWDOWN);
});

/** Opens a page every half second, as a person does who looks for something. */
async function look(paths: readonly string[], signal: AbortSignal, open: (path: string) => Promise<unknown>) {
  for (let at = 0; !signal.aborted; at += 1) {
    await open(paths[at % paths.length] ?? '/');
    await sleep(500, undefined, { signal }).catch(() => undefined);
  }
}

function table(rows: readonly { path: string; bytes: number; leastMs: number; cpuMs: number; workedMs: number }[]) {
  const line = (path: string, ...values: (string | number)[]) =>
    [path.padEnd(36), ...values.map((value) => String(value).padStart(9))].join(' ');
  return [
    line('page', 'bytes', 'least ms', 'CPU ms', 'blocked'),
    ...rows.map(({ path, bytes, leastMs, cpuMs, workedMs }) =>
      line(path, bytes, Math.round(leastMs), Math.round(cpuMs), Math.round(workedMs)),
    ),
  ].join('\n');
}
