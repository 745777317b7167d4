import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../core/periodic-task.ts';

const IDLE_CHECK_INTERVAL_MS = 60_000;
/** Who takes less than this share of one processor does nothing. */
const IDLE_SHARE = 0.01;

export interface IdleWatchOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  collect(): Promise<void>;
  /** The processor time that this process has taken. */
  processorMs?: () => number;
}

/** Collects once, when a process comes to rest, what its start or its last runs have left: V8 would do it with the next work. */
export function startIdleWatch({
  collect,
  processorMs = ownProcessorMs,
  clock,
  logger,
}: IdleWatchOptions): PeriodicTask {
  let beforeMs = processorMs();
  let isAtRest = false;
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: IDLE_CHECK_INTERVAL_MS,
    failed: 'memory could not be given back',
    async work() {
      const wasAtRest = isAtRest;
      isAtRest = processorMs() - beforeMs < IDLE_SHARE * IDLE_CHECK_INTERVAL_MS;
      if (isAtRest && !wasAtRest) await collect();
      beforeMs = processorMs();
    },
  });
}

function ownProcessorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
