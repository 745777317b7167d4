import { statSync } from 'node:fs';
import { summarizeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';

const CHECK_INTERVAL_MS = 15_000;
/** A write-ahead log longer than this is written back and cut. */
const NOTABLE_BYTES = 16 * 1024 * 1024;

export interface WalWatchOptions {
  ledgerPath: string;
  /** Writes the log back and cuts it; false while a reader still needs it. */
  checkpoint(): Promise<boolean>;
  logger: Logger;
  intervalMs?: number;
}

/**
 * Looks after the ledger's write-ahead log: SQLite cuts it at a commit only, and a reader that stayed open for long may
 * have gone when no commit comes. Returns what ends it.
 */
export function startWalWatch({ ledgerPath, checkpoint, logger, intervalMs }: WalWatchOptions): () => Promise<void> {
  let running: Promise<void> | null = null;
  const check = async (): Promise<void> => {
    const bytes = statSync(`${ledgerPath}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (bytes <= NOTABLE_BYTES) return;
    try {
      const cut = await checkpoint();
      logger.debug({ bytes, cut }, 'write-ahead log of the ledger looked after');
    } catch (error) {
      logger.warn({ bytes, reason: summarizeError(error).message }, 'the write-ahead log could not be written back');
    }
  };
  const timer = setInterval(() => {
    running ??= check().finally(() => {
      running = null;
    });
  }, intervalMs ?? CHECK_INTERVAL_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
