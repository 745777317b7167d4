/** Since when a workspace's sync job has waited for a place; the job may be taken by another daemon, too. */
export class JobWaits {
  readonly #sinceMs = new Map<string, number>();

  enqueued(workspaceId: string, nowMs: number): void {
    if (!this.#sinceMs.has(workspaceId)) this.#sinceMs.set(workspaceId, nowMs);
  }

  begun(workspaceId: string): void {
    this.#sinceMs.delete(workspaceId);
  }

  /** Null when no job waits. `lastAttemptAtMs` is of the ledger: an attempt since then has used the job up. */
  since(workspaceId: string, lastAttemptAtMs: number | null): number | null {
    const sinceMs = this.#sinceMs.get(workspaceId) ?? null;
    if (sinceMs === null || lastAttemptAtMs === null || lastAttemptAtMs < sinceMs) return sinceMs;
    this.#sinceMs.delete(workspaceId);
    return null;
  }
}
