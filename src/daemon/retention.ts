import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../core/periodic-task.ts';
import type { Pruned } from '../writer/commands/ledger-commands.ts';

const INTERVAL_MS = 3_600_000;
/** Transactions of one tick, each a few milliseconds long: what is left over waits for the next tick. */
const STEPS_A_TICK = 40;
const DAY_MS = 86_400_000;

export interface RetentionOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  /** Forgets some of what is older. */
  prune(request: { beforeMs: number; nowMs: number }): Promise<Pruned>;
  retentionDays: number;
}

/** Forgets every hour, and at the start, what the ledger need not keep for longer than `retentionDays`. */
export function startRetention({ prune, retentionDays, clock, logger }: RetentionOptions): PeriodicTask {
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: INTERVAL_MS,
    atOnce: true,
    failed: 'what the ledger need not keep could not be forgotten',
    async work(stopping) {
      const total = { certificates: 0, runs: 0, notifications: 0 };
      for (let step = 0; step < STEPS_A_TICK && !stopping.aborted; step += 1) {
        const nowMs = clock.now();
        const { more, ...gone } = await prune({ beforeMs: nowMs - retentionDays * DAY_MS, nowMs });
        total.certificates += gone.certificates;
        total.runs += gone.runs;
        total.notifications += gone.notifications;
        if (!more) break;
      }
      if (Object.values(total).some((count) => count > 0)) logger.info({ ...total, retentionDays }, 'ledger pruned');
    },
  });
}
