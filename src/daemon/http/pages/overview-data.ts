import { alertRows, type ListedAlert } from '../../../alerts/queries/alerts.ts';
import type { Config } from '../../../config/types.ts';
import type { WallClock } from '../../../core/clock.ts';
import { within } from '../../../core/deadline.ts';
import type { LedgerReader } from '../../../ledger/store/file/open.ts';
import type { QueueCounts } from '../../../queue/sync-queue.ts';
import { createSlotHistory } from '../../slot-history.ts';
import { syncFactsReader } from '../../state/staleness.ts';
import { type OutboxCounts, workspaceStatuses } from '../../state/status.ts';
import { type WorkspaceLine, workspaceLines, worstFirst } from '../../state/workspace-state.ts';
import type { Measurements } from '../measurements.ts';
import type { HealthProbe } from '../probe.ts';
import { type ReadinessFault, readinessFaults } from '../readiness.ts';

const QUEUE_DEADLINE_MS = 2_000;

/** Everything that the page `/` shows. */
export interface Overview {
  version: string;
  nowMs: number;
  uptimeSeconds: number;
  faults: ReadinessFault[];
  /** What is wrong first. */
  workspaces: WorkspaceLine[];
  /** By what is at stake. */
  alerts: ListedAlert[];
  outbox: OutboxCounts;
  /** Null while Redis does not answer. */
  queues: Readonly<Record<string, QueueCounts>> | null;
  storage: ReturnType<Measurements['storage']>;
}

export interface WorkspaceSources {
  reader: LedgerReader;
  config: Config;
  clock: WallClock;
  probe: HealthProbe;
}

export interface OverviewSources extends WorkspaceSources {
  version: string;
  measured: Measurements;
}

/** How each workspace stands now. */
export function readWorkspaces({ reader, config, clock, probe }: WorkspaceSources): WorkspaceLine[] {
  const { connection } = reader;
  const sources = {
    factsOf: syncFactsReader(connection),
    waitingSince: probe.waitingSince.bind(probe),
    historyOf: createSlotHistory(connection, clock, 0),
  };
  return workspaceLines(config, workspaceStatuses(connection), sources, clock.now());
}

export async function readOverview(sources: OverviewSources): Promise<Overview> {
  const { reader, clock, version, probe, measured } = sources;
  const { connection } = reader;
  const nowMs = clock.now();
  const queues = probe.redisUp() ? await within(probe.queueCounts(), QUEUE_DEADLINE_MS).catch(() => null) : null;
  return {
    version,
    nowMs,
    uptimeSeconds: process.uptime(),
    faults: readinessFaults(probe),
    workspaces: worstFirst(readWorkspaces(sources)),
    alerts: alertRows(connection, { states: 'open' }),
    outbox: probe.outbox(),
    queues,
    storage: measured.storage(),
  };
}
