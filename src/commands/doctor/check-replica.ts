import { existsSync } from 'node:fs';
import type { Config } from '../../config/types.ts';
import { openReader } from '../../ledger/store/file/open.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** Whether the replica can be reached, takes this copy of the ledger, and has what it is to have. */
export async function checkReplica({ publish, ledger }: Config, nowMs: number): Promise<Finding[]> {
  // Without a ledger there is nothing to compare; the check of the ledger says so.
  if (publish === null || !existsSync(ledger.path)) return [];
  const { describeReplica, probeReplica } = await import('../../publish/receive/probe-replica.ts');
  const reader = openReader(ledger.path);
  try {
    const standing = await probeReplica(publish, reader.connection, nowMs, { writes: true });
    const words = describeReplica(standing);
    if (standing.fault !== null) return [fail('replica', words, standing.fault.hint)];
    if (standing.drift.length > 0) {
      return [
        fail('replica', standing.drift.join('; '), '`usage-ledger publish` mends it, and sends again what is lost'),
      ];
    }
    if (standing.uncounted.length > 0) {
      return [
        warn(
          'replica',
          standing.uncounted.join('; '),
          'two machines read what one is to read; the views count the first',
        ),
      ];
    }
    if (standing.lag.seconds * 1000 <= publish.staleMs) return [ok('replica', words)];
    return [
      warn('replica', words, 'see whether the daemon runs and what its log says; `usage-ledger publish` sends it now'),
    ];
  } finally {
    reader.close();
  }
}
