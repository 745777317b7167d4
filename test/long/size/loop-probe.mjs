// Loaded into a daemon with --import: measures how long its event loop is blocked, and answers its parent's messages.
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const RESOLUTION_MS = 10;

if (isMainThread && process.send !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  // On a busy machine a thread waits for its turn: the time that it worked between two turns is its own.
  let workedMs = 0;
  let busy = process.threadCpuUsage();
  let last = { atMs: performance.now(), cpu: process.threadCpuUsage() };
  setInterval(() => {
    const used = process.threadCpuUsage(last.cpu);
    const atMs = performance.now();
    if (atMs - last.atMs > 2 * RESOLUTION_MS) workedMs = Math.max(workedMs, milliseconds(used));
    last = { atMs, cpu: process.threadCpuUsage() };
  }, RESOLUTION_MS).unref();
  process.on('message', ({ probe }) => {
    if (probe === undefined) return;
    process.send({
      probe,
      // The monitor's own pause counts as delay.
      blockedMs: Math.max(0, delay.max / 1e6 - RESOLUTION_MS),
      workedMs,
      cpuMs: milliseconds(process.threadCpuUsage(busy)),
      rssMb: process.memoryUsage.rss() / 1e6,
    });
    delay.reset();
    workedMs = 0;
    busy = process.threadCpuUsage();
  });
  process.channel.unref();
}

function milliseconds({ user, system }) {
  return (user + system) / 1000;
}
