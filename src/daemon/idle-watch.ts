import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../core/periodic-task.ts';

const IDLE_CHECK_INTERVAL_MS = 60_000;
/** Below this share of one processor the process counts as idle. */
const IDLE_CPU_SHARE = 0.01;

export interface IdleWatchOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  collect(): Promise<void>;
  /** Total processor time used by this process, in milliseconds. */
  processorMs?: () => number;
}

/** Collects garbage once when the process becomes idle: V8 alone would keep the memory of the last runs until the next work. */
export function startIdleWatch({ collect, processorMs = processCpuMs, clock, logger }: IdleWatchOptions): PeriodicTask {
  let beforeMs = processorMs();
  let isAtRest = false;
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: IDLE_CHECK_INTERVAL_MS,
    failed: 'could not release memory',
    async work() {
      const wasAtRest = isAtRest;
      isAtRest = processorMs() - beforeMs < IDLE_CPU_SHARE * IDLE_CHECK_INTERVAL_MS;
      if (isAtRest && !wasAtRest) await collect();
      beforeMs = processorMs();
    },
  });
}

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
