import { every } from '../core/clock.ts';
import { type ClaimedRun, LEASE_MS } from '../ledger/journal/runs/claim-run.ts';
import { FencedError } from '../ledger/store/file/sqlite-errors.ts';
import type { SyncDeps } from './sync-deps.ts';

/**
 * Renews the run's lease on its workspace until `stop` is called. The signal aborts when another run takes over the
 * workspace.
 */
export function keepRunLease(deps: SyncDeps, claimed: ClaimedRun): { signal: AbortSignal; stop: () => void } {
  const lost = new AbortController();
  const stop = every(deps.clock, LEASE_MS / 3, () => {
    deps.writer.renewLease({ runKey: claimed.runKey, nowMs: deps.clock.now() }).then(
      (held) => {
        if (!held)
          lost.abort(new FencedError(`another run has taken workspace ${JSON.stringify(claimed.workspaceId)}`));
      },
      (error: unknown) => deps.logger.warn({ err: error, runId: claimed.runId }, 'the lease could not be renewed'),
    );
  });
  return { signal: lost.signal, stop };
}
