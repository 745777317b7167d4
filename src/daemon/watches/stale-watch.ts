import type { StaleCheck } from '../../alerts/evaluate-system.ts';
import type { WallClock } from '../../core/clock.ts';
import type { PeriodicTask } from '../../core/periodic-task.ts';
import { ageMs } from '../../core/stored-time.ts';
import type { HealthProbe } from '../http/probe.ts';
import { type JobDeps, startJob } from '../jobs.ts';

interface StaleWatchOptions extends JobDeps {
  stale(): StaleCheck[];
  raise(workspaces: StaleCheck[]): Promise<number>;
  wakeDeliveries(): void;
}

/**
 * Checks for workspaces without a recent complete run, because no run can report its own absence. A workspace must be
 * stale in two checks in a row, because all workspaces look stale after the machine was suspended, until they are read.
 */
export function startStaleWatch({ stale, raise, wakeDeliveries, clock, logger }: StaleWatchOptions): PeriodicTask {
  let before = new Set<string>();
  return startJob('stale', { clock, logger }, async () => {
    const found = stale();
    const workspaces = found.filter(({ workspaceId }) => before.has(workspaceId));
    before = new Set(found.map(({ workspaceId }) => workspaceId));
    if (workspaces.length > 0 && (await raise(workspaces)) > 0) wakeDeliveries();
  });
}

/** Returns the workspaces that are stale now. */
export function staleChecks(probe: HealthProbe, clock: WallClock): StaleCheck[] {
  return probe
    .freshness()
    .filter(({ stale }) => stale)
    .map(({ workspaceId, lastCompleteRunAtMs, staleAfterMs }) => {
      const sinceMs = ageMs(lastCompleteRunAtMs, clock.now()) ?? staleAfterMs + 1;
      return { workspaceId, sinceMs, staleAfterMs };
    });
}
