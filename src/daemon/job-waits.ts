import type { WallClock } from '../core/clock.ts';
import { stillWaits } from './state/staleness.ts';

/** Since when a workspace's sync job has waited for a place. */
export class JobWaits {
  readonly #sinceMs = new Map<string, number>();
  readonly #clock: WallClock;

  constructor(clock: WallClock) {
    this.#clock = clock;
  }

  enqueued(workspaceId: string, nowMs: number): void {
    if (!this.#sinceMs.has(workspaceId)) this.#sinceMs.set(workspaceId, nowMs);
  }

  begun(workspaceId: string): void {
    this.#sinceMs.delete(workspaceId);
  }

  /** Null when no job waits. `lastAttemptAtMs` is of the ledger. */
  since(workspaceId: string, lastAttemptAtMs: number | null): number | null {
    const sinceMs = this.#sinceMs.get(workspaceId);
    if (sinceMs === undefined || stillWaits(sinceMs, lastAttemptAtMs, this.#clock.now())) return sinceMs ?? null;
    this.#sinceMs.delete(workspaceId);
    return null;
  }
}
