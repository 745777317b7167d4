// Loaded into a daemon with --import: keeps the longest time that its event loop was held up in a file.
import { rename, writeFile } from 'node:fs/promises';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const RESOLUTION_MS = 10;
const file = process.env.LOOP_WATCH_FILE;

if (file !== undefined && isMainThread) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  // The monitor's own pause counts as delay.
  const inMs = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  // On a machine that is busy with other things a thread waits for its turn: what it works at a time is all its own.
  let mostWorkedMs = 0;
  let last = { atMs: performance.now(), cpu: process.threadCpuUsage() };
  setInterval(() => {
    const used = process.threadCpuUsage(last.cpu);
    const atMs = performance.now();
    if (atMs - last.atMs > 2 * RESOLUTION_MS) mostWorkedMs = Math.max(mostWorkedMs, (used.user + used.system) / 1000);
    last = { atMs, cpu: process.threadCpuUsage() };
  }, RESOLUTION_MS).unref();
  // Without a call that waits for the disk: it would measure itself. Whoever reads the file must not find half of it.
  setInterval(async () => {
    const measured = { maxMs: inMs(delay.max), p99Ms: inMs(delay.percentile(99)), mostWorkedMs };
    await writeFile(`${file}.new`, JSON.stringify(measured));
    await rename(`${file}.new`, file);
  }, 1000).unref();
  // What the start takes holds nobody up.
  setTimeout(() => {
    delay.reset();
    mostWorkedMs = 0;
  }, 10_000).unref();
}
