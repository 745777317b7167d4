import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { daemonFolder } from '../../support/daemon-folder.ts';
import { startDaemonProcess } from '../../support/daemon-process.ts';

const MINUTES = Number(process.env.SOAK_MINUTES ?? 8);
/** V8 and SQLite fill their caches first. */
const WARM_UP_MINUTES = Math.min(2, MINUTES / 4);
/**
 * Each on a minute's cron, where fifteen minutes are usual, with one connection: a pool of more is full after many runs
 * only, and its sockets, which are bounded, would look like a leak until then.
 */
const WORKSPACES = 20;
const MOST_MIB_A_MINUTE = 1;
const MOST_FILES_A_MINUTE = 0.5;

interface Sample {
  minutes: number;
  mib: number;
  files: number;
}

test(`at ten times the usual rate for ${MINUTES} minutes neither memory nor open files grow`, async () => {
  const workspaces = Array.from({ length: WORKSPACES }, (_, index) => ({
    ...{ id: `ws-${index + 1}`, api_key_id: `ak_${index + 1}`, secret_key: `sk_${index + 1}_not_a_secret` },
    generate: { seed: index + 1, tenants: 200, months: 3 },
  }));
  const sandbox = await startSandbox({ scenario: { workspaces }, keepRequests: 0 });
  onTestFinished(() => sandbox.close());
  const folder = daemonFolder(sandbox, {
    defaults: { cron: '* * * * *', concurrency: 1 },
    alerts: { channels: [{ type: 'log' }] },
  });
  const daemon = startDaemonProcess(folder);
  await daemon.line('ready', 60_000);
  const pid = daemon.child.pid ?? 0;
  const samples: Sample[] = [];
  const beganMs = performance.now();
  for (let minutes = 0; minutes < MINUTES; minutes = (performance.now() - beganMs) / 60_000) {
    await sleep(2_000);
    if (minutes >= WARM_UP_MINUTES) samples.push({ minutes, mib: residentMib(pid), files: openFiles(pid) });
  }
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);

  const runs = daemon.lines.filter(({ msg }) => msg === 'run applied').length;
  const mibAMinute = slope(samples.map(({ minutes, mib }) => [minutes, mib]));
  const filesAMinute = slope(samples.map(({ minutes, files }) => [minutes, files]));
  const [first, last] = [samples[0], samples.at(-1)];
  process.stdout.write(`${JSON.stringify({ minutes: MINUTES, runs, mibAMinute, filesAMinute, first, last })}\n`);
  expect(runs).toBeGreaterThanOrEqual(WORKSPACES * (MINUTES - 1));
  expect(mibAMinute).toBeLessThan(MOST_MIB_A_MINUTE);
  expect(Math.abs(filesAMinute)).toBeLessThan(MOST_FILES_A_MINUTE);
});

/** Of the straight line through the points that fits best. */
function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const covariance = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  return covariance / points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
}

function residentMib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
