// Loaded into a daemon with --import: keeps the longest time that its event loop was held up in a file.
import { renameSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const file = process.env.LOOP_WATCH_FILE;
if (file !== undefined && isMainThread) {
  const resolution = 10;
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  // The monitor's own pause counts as delay.
  const inMs = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - resolution);
  setInterval(() => {
    // Whoever reads the file must not find half of it.
    writeFileSync(`${file}.new`, JSON.stringify({ maxMs: inMs(delay.max), p99Ms: inMs(delay.percentile(99)) }));
    renameSync(`${file}.new`, file);
  }, 1000).unref();
  // What the start takes holds nobody up.
  setTimeout(() => delay.reset(), 10_000).unref();
}
