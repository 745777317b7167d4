import type { StaleCheck } from '../../alerts/evaluate/evaluate-self.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../../core/periodic-task.ts';

const CHECK_INTERVAL_MS = 60_000;

export interface StaleWatchOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  stale(): StaleCheck[];
  raise(workspaces: StaleCheck[]): Promise<number>;
  notified(): void;
}

/**
 * Looks every minute for workspaces without a complete run. No run can do that: it is about runs that do not come. What two
 * looks find is raised: a process that stood still finds all of them stale when it goes on, and reads them at once.
 */
export function startStaleWatch({ stale, raise, notified, clock, logger }: StaleWatchOptions): PeriodicTask {
  let before = new Set<string>();
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: CHECK_INTERVAL_MS,
    failed: 'stale workspaces could not be looked for',
    async work() {
      const found = stale();
      const workspaces = found.filter(({ workspaceId }) => before.has(workspaceId));
      before = new Set(found.map(({ workspaceId }) => workspaceId));
      if (workspaces.length > 0 && (await raise(workspaces)) > 0) notified();
    },
  });
}
