import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openReader } from '../../ledger/file/open.ts';
import type { Context } from '../../wiring/context.ts';
import type { CliContext } from './cli-context.ts';

/**
 * Runs `use` on a copy of the ledger that is thrown away afterwards: a dry run goes through every step that a real one
 * does, and the ledger itself is only read.
 */
export async function withLedgerCopy<T>(cli: CliContext, use: (context: Context) => Promise<T>): Promise<T> {
  const config = await cli.loadConfig();
  const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-dry-run-'));
  try {
    const copy = join(folder, 'ledger.db');
    if (existsSync(config.ledger.path)) {
      const reader = openReader(config.ledger.path);
      try {
        await reader.connection.backup(copy);
      } finally {
        reader.close();
      }
    }
    return await cli.withContext(use, { config: { ...config, ledger: { ...config.ledger, path: copy } } });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
