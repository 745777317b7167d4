import { DAY_MS } from '../../core/durations.ts';
import type { PeriodicTask } from '../../core/periodic-task.ts';
import type { PruneResult } from '../../writer/commands.ts';
import { type JobDeps, startJob } from '../jobs.ts';

/** The most transactions per run, each a few milliseconds long. The remaining records are pruned in the next run. */
const MAX_PRUNE_STEPS_PER_RUN = 40;

export interface RetentionOptions extends JobDeps {
  prune(request: { beforeMs: number; nowMs: number }): Promise<PruneResult>;
  retentionDays: number;
}

/** Prunes records older than `retentionDays`. */
export function startRetention({ prune, retentionDays, clock, logger }: RetentionOptions): PeriodicTask {
  return startJob('retention', { clock, logger }, async (signal) => {
    const total = { certificates: 0, runs: 0, notifications: 0 };
    for (let step = 0; step < MAX_PRUNE_STEPS_PER_RUN && !signal.aborted; step += 1) {
      const nowMs = clock.now();
      const { more, ...pruned } = await prune({ beforeMs: nowMs - retentionDays * DAY_MS, nowMs });
      total.certificates += pruned.certificates;
      total.runs += pruned.runs;
      total.notifications += pruned.notifications;
      if (!more) break;
    }
    if (Object.values(total).some((count) => count > 0)) logger.info({ ...total, retentionDays }, 'ledger pruned');
  });
}
