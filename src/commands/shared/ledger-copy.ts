import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { releaseAllLeases } from '../../ledger/journal/runs/claim-run.ts';
import { copyLedger } from '../../ledger/store/file/ledger-file.ts';
import { openForWriting, openReader } from '../../ledger/store/file/open.ts';
import type { Context } from '../../wiring/context.ts';
import type { CliContext } from './cli-context.ts';

/**
 * Runs `use` on a copy of the ledger that is thrown away afterwards: a dry run goes through every step that a real one
 * does, and the ledger itself is only read. Runs that are under way in the ledger hold nothing in the copy.
 */
export async function withLedgerCopy<T>(
  cli: CliContext,
  signal: AbortSignal,
  use: (context: Context) => Promise<T>,
): Promise<T> {
  const config = await cli.loadConfig();
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
    return await cli.withContext(use, { config: { ...config, ledger: { ...config.ledger, path: copy } } });
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
