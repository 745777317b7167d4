import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startService, sync } from './service.mjs';
import { median } from './stats.mjs';

/**
 * Whole syncs of a service that takes its time for every answer: with many requests in flight, and one after the other.
 * Ideal is what the latency alone would take: pages * latency / requests in flight.
 */
export async function measureLatency(bench, say) {
  const { latencyRecords: records, latencyMs, concurrency, latencySequential, quick } = bench.options;
  const service = await startService(bench, { records, latencyMs });
  const many = service.configure('latency', { concurrency });
  const one = service.configure('latency-one', { concurrency: 1 });
  say(`${records} records, ${latencyMs} ms latency, ${concurrency} in flight`);
  const parallel = [];
  for (let round = 0; round < (quick ? 1 : 3); round += 1) {
    parallel.push(await sync(bench, many));
    rmSync(join(dirname(many), 'latency'), { recursive: true });
  }
  let sequentialMs = null;
  if (latencySequential) {
    say(`${records} records, ${latencyMs} ms latency, one after the other`);
    ({ ms: sequentialMs } = await sync(bench, one));
  }
  await service.stop();
  const pages = Math.ceil(records / 100);
  const idealMs = (pages * latencyMs) / concurrency;
  const parallelMs = median(parallel.map(({ ms }) => ms));
  return {
    records,
    pages,
    latencyMs,
    concurrency,
    idealMs,
    parallelMs,
    sequentialMs,
    overIdeal: parallelMs / idealMs,
    overSequential: sequentialMs === null ? null : sequentialMs / parallelMs,
    rounds: parallel,
  };
}
