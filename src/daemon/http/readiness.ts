import { isoTime } from '../../core/clock.ts';
import { summarizeError } from '../../core/errors.ts';
import type { PublishHealth } from '../watches/publish-watch.ts';
import type { Freshness, HealthProbe } from './probe.ts';

/** A reason why the daemon is not ready. `code` does not change between versions; `message` is for people. */
export interface ReadinessFault {
  code: 'workspace_stale' | 'redis_unavailable' | 'ledger_unwritable' | 'ledger_unreadable' | 'publish_stale';
  message: string;
  workspace_id?: string;
}

/** The body of `/readyz`. `publish` is present if the ledger is published. */
export interface Readiness {
  status: 'ready' | 'not_ready';
  reasons?: ReadinessFault[];
  tolerated?: ReadinessFault[];
  publish?: { position: number | null; lag_links: number; lag_seconds: number; stale: boolean; fault: string | null };
}

export function readiness(probe: HealthProbe): Readiness {
  const publish = publishOf(probe);
  const faults = readinessFaults(probe);
  const stale = faults.filter(({ code }) => code === 'workspace_stale');
  const tolerated = stale.length <= probe.maxToleratedStale ? stale : [];
  const reasons = faults.filter((fault) => !tolerated.includes(fault));
  return {
    status: reasons.length === 0 ? 'ready' : 'not_ready',
    ...(reasons.length === 0 ? {} : { reasons }),
    ...(tolerated.length === 0 ? {} : { tolerated }),
    ...(publish === null ? {} : { publish }),
  };
}

function publishOf(probe: HealthProbe): NonNullable<Readiness['publish']> | null {
  const health = publishHealthOf(probe);
  if (health === null) return null;
  return {
    position: health.position,
    lag_links: health.lagLinks,
    lag_seconds: health.lagSeconds,
    stale: health.stale,
    fault: health.fault?.code ?? null,
  };
}

/** Returns null if the ledger is not published, or if it cannot be read, which is reported as a separate fault. */
function publishHealthOf({ publishing }: HealthProbe): PublishHealth | null {
  try {
    return publishing();
  } catch {
    return null;
  }
}

/** Lists all faults. Each makes the daemon not ready, except a tolerated number of stale workspaces. */
export function readinessFaults(probe: HealthProbe): ReadinessFault[] {
  const faults = freshnessFaults(probe);
  if (!probe.redisUp()) {
    const fault = probe.redisFault();
    const why = fault === null ? '' : `: ${fault.reason}`;
    faults.push({ code: 'redis_unavailable', message: `Redis is not available${why}` });
  }
  const unwritable = probe.writeFault();
  if (unwritable !== null) {
    faults.push({ code: 'ledger_unwritable', message: `cannot write the ledger: ${unwritable}` });
  }
  const publishing = publishHealthOf(probe);
  if (publishing?.unready === true) {
    const why = publishing.fault === null ? '' : `: ${publishing.fault.message}`;
    faults.push({ code: 'publish_stale', message: `the Postgres copy is out of date${why}` });
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
    const message = `cannot read the ledger: ${summarizeError(error).message}`;
    return [{ code: 'ledger_unreadable', message }];
  }
}

function staleMessage({ workspaceId, lastCompleteRunAtMs, staleAfterMs }: Freshness): string {
  const last = lastCompleteRunAtMs === null ? 'there was none' : `the last one was at ${isoTime(lastCompleteRunAtMs)}`;
  const minutes = Math.round(staleAfterMs / 60_000);
  return `workspace ${JSON.stringify(workspaceId)}: no complete run for more than ${minutes} minutes, ${last}`;
}
