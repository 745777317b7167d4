import type { PeriodicTask } from '../../core/periodic-task.ts';
import { JOBS, type JobDeps, startJob } from '../jobs.ts';

/** The process is idle while it uses less than this share of one processor. */
const IDLE_CPU_SHARE = 0.01;

export interface IdleWatchOptions extends JobDeps {
  collect(): Promise<void>;
  /** Total processor time used by this process, in milliseconds. */
  processorMs?: () => number;
}

/**
 * Collects garbage once when the process becomes idle. Otherwise V8 keeps the memory of the last runs until there is
 * new work.
 */
export function startIdleWatch({ collect, processorMs = processCpuMs, clock, logger }: IdleWatchOptions): PeriodicTask {
  let beforeMs = processorMs();
  let isAtRest = false;
  return startJob('idle', { clock, logger }, async () => {
    const wasAtRest = isAtRest;
    isAtRest = processorMs() - beforeMs < IDLE_CPU_SHARE * JOBS.idle.intervalMs;
    if (isAtRest && !wasAtRest) await collect();
    beforeMs = processorMs();
  });
}

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
