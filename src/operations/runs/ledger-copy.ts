import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../config/types.ts';
import { releaseAllLeases } from '../../ledger/journal/runs/claim-run.ts';
import { copyLedger } from '../../ledger/store/file/ledger-file.ts';
import { openForWriting, openReader } from '../../ledger/store/file/open.ts';

/**
 * Calls `use` with a configuration that points to a temporary copy of the ledger. A dry run then does every step of a
 * real run on the copy, and the ledger itself is only read. The copy does not have the leases of running syncs.
 */
export async function withLedgerCopy<T>(
  config: Config,
  signal: AbortSignal,
  use: (config: Config) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-dry-run-'));
  try {
    const copy = join(folder, 'ledger.db');
    if (existsSync(config.ledger.path)) {
      const reader = openReader(config.ledger.path);
      try {
        await copyLedger(reader.connection, copy, signal);
      } finally {
        reader.close();
      }
      freeWorkspaces(copy);
    }
    return await use({ ...config, ledger: { ...config.ledger, path: copy } });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function freeWorkspaces(copy: string): void {
  const connection = openForWriting(copy);
  try {
    releaseAllLeases(connection);
  } finally {
    connection.close();
  }
}
