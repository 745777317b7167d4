import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder that is gone when the test has finished. */
export function temporaryFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'ledger-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
  return path;
}
