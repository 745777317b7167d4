import { statSync } from 'node:fs';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../../core/periodic-task.ts';

const CHECK_INTERVAL_MS = 15_000;
/** A write-ahead log longer than this is written back and cut. */
const NOTABLE_BYTES = 16 * 1024 * 1024;

export interface WalWatchOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  ledgerPath: string;
  /** Writes the log back and cuts it; false while a reader still needs it. */
  checkpoint(): Promise<boolean>;
}

/**
 * Looks after the ledger's write-ahead log: SQLite cuts it at a commit only, and a reader that stayed open for long may
 * have gone when no commit comes.
 */
export function startWalWatch({ ledgerPath, checkpoint, clock, logger }: WalWatchOptions): PeriodicTask {
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: CHECK_INTERVAL_MS,
    failed: 'the write-ahead log could not be written back',
    async work() {
      const bytes = statSync(`${ledgerPath}-wal`, { throwIfNoEntry: false })?.size ?? 0;
      if (bytes <= NOTABLE_BYTES) return;
      const cut = await checkpoint();
      logger.debug({ bytes, cut }, 'write-ahead log of the ledger looked after');
    },
  });
}
