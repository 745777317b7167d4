import { statSync } from 'node:fs';
import type { PeriodicTask } from '../../core/periodic-task.ts';
import { type JobDeps, startJob } from '../jobs.ts';

/** A write-ahead log larger than this is checkpointed and truncated. */
const MAX_WAL_BYTES = 16 * 1024 * 1024;

interface WalWatchOptions extends JobDeps {
  ledgerPath: string;
  /** Checkpoints and truncates the log; returns false while a reader still needs it. */
  checkpoint(): Promise<boolean>;
}

/**
 * Truncates a large write-ahead log. SQLite itself truncates the log only at a commit, and there may be no commit after
 * a long read has ended.
 */
export function startWalWatch({ ledgerPath, checkpoint, clock, logger }: WalWatchOptions): PeriodicTask {
  return startJob('checkpoint', { clock, logger }, async () => {
    const bytes = statSync(`${ledgerPath}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (bytes <= MAX_WAL_BYTES) return;
    const cut = await checkpoint();
    logger.debug({ bytes, cut }, 'write-ahead log checkpointed');
  });
}
