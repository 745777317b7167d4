import { isoTime } from '../../core/clock.ts';
import { summarizeError } from '../../core/errors.ts';
import type { Freshness, HealthProbe } from './probe.ts';

/** Why the daemon is not ready; `code` is stable, `message` is for people. */
export interface ReadinessFault {
  code: 'workspace_stale' | 'redis_unavailable' | 'ledger_unwritable' | 'ledger_unreadable';
  message: string;
  workspace_id?: string;
}

/** Everything that keeps the daemon from being ready; empty when it is. */
export function readinessFaults(probe: HealthProbe): ReadinessFault[] {
  const faults = freshnessFaults(probe);
  if (!probe.redisUp()) faults.push({ code: 'redis_unavailable', message: 'Redis is not available' });
  const unwritable = probe.ledgerWritable();
  if (unwritable !== null) {
    faults.push({ code: 'ledger_unwritable', message: `the ledger cannot be written: ${unwritable}` });
  }
  return faults;
}

function freshnessFaults(probe: HealthProbe): ReadinessFault[] {
  try {
    return probe
      .freshness()
      .filter(({ stale }) => stale)
      .map((workspace) => ({
        code: 'workspace_stale',
        message: staleMessage(workspace),
        workspace_id: workspace.workspaceId,
      }));
  } catch (error) {
    const message = `the ledger cannot be read: ${summarizeError(error).message}`;
    return [{ code: 'ledger_unreadable', message }];
  }
}

function staleMessage({ workspaceId, lastCompleteRunAtMs, staleAfterMs }: Freshness): string {
  const last = lastCompleteRunAtMs === null ? 'there was none' : `the last was at ${isoTime(lastCompleteRunAtMs)}`;
  const minutes = Math.round(staleAfterMs / 60_000);
  return `workspace ${JSON.stringify(workspaceId)}: no complete run for more than ${minutes} minutes, ${last}`;
}
