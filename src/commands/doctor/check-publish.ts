import { existsSync } from 'node:fs';
import type { Config } from '../../config/types.ts';
import { openReader } from '../../ledger/store/file/open.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** Whether Postgres can be reached, takes what is published, and has what the ledger has. */
export async function checkPublish({ publish, ledger }: Config, nowMs: number): Promise<Finding[]> {
  // Without a ledger there is nothing to publish; the check of the ledger says so.
  if (publish === null || !existsSync(ledger.path)) return [];
  const { describeStanding, standingOf } = await import('../../publish/standing.ts');
  const reader = openReader(ledger.path);
  try {
    const standing = await standingOf(publish, reader.connection, nowMs);
    const words = describeStanding(standing);
    if (standing.fault !== null) return [fail('publish', words, standing.fault.hint)];
    if (standing.lag.seconds * 1000 <= publish.staleMs) return [ok('publish', words)];
    const remedy = 'see whether the daemon runs and what its log says; `usage-ledger publish` sends it now';
    return [warn('publish', words, remedy)];
  } finally {
    reader.close();
  }
}
