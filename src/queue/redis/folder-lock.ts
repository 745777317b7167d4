import { sleep, systemClock } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import { holdFile } from '../../core/process/held-file.ts';

const RETRY_MS = 20;

/**
 * Runs `work` while nobody else, in this process or another, is inside the same lock. Fails with `lock_timeout`
 * (retryable) after `waitMs` milliseconds.
 */
export async function withFolderLock<T>(path: string, waitMs: number, work: () => Promise<T>): Promise<T> {
  const end = systemClock.monotonic() + waitMs;
  let lock = holdFile(path, 0);
  for (; lock === null; lock = holdFile(path, 0)) {
    if (systemClock.monotonic() > end) {
      throw new AppError('lock_timeout', `${path} is held by another process`, {
        retryable: true,
        hint: 'another daemon is starting or stopping on this ledger; it is done within seconds',
      });
    }
    await sleep(systemClock, RETRY_MS);
  }
  try {
    return await work();
  } finally {
    lock.close();
  }
}
