import { nextTurn } from '../../../core/clock.ts';
import { withTimeout } from '../../../core/deadline.ts';
import { createSlotHistory } from '../../../freshness/schedules.ts';
import { readSyncFacts } from '../../../freshness/staleness.ts';
import {
  listWorkspacesToShow,
  readWorkspaceStatuses,
  sortWorstFirst,
  type WorkspaceLine,
} from '../../../freshness/workspace-status.ts';
import { listAlerts, type SummarizedAlert } from '../../../operations/alerts/list-alerts.ts';
import { compareMonths } from '../../../operations/months/list-months.ts';
import type { Scope } from '../../../operations/operation.ts';
import type { Context } from '../../../wiring/context.ts';
import type { Measurements } from '../../http/measurements.ts';
import type { HealthProbe } from '../../http/probe.ts';
import { type ReadinessFault, readinessFaults } from '../../http/readiness.ts';

const QUEUE_DEADLINE_MS = 2_000;
const SHOWN_ALERTS = 5;

export interface Overview {
  faults: ReadinessFault[];
  workspaces: WorkspaceLine[];
  alerts: SummarizedAlert[];
  openAlerts: { total: number; critical: number };
  months: Awaited<ReturnType<typeof compareMonths.run>>;
  outbox: ReturnType<HealthProbe['outbox']>;
  outlets: ReturnType<Measurements['outlets']>;
  /** The number of jobs in each queue; null while Redis is not available. */
  queues: Awaited<ReturnType<HealthProbe['queueCounts']>> | null;
}

/**
 * The slot history of each context. It is kept because reading it takes as long as all the rest of the overview; later
 * calls only add what is new.
 */
const slotHistories = new WeakMap<Context, ReturnType<typeof createSlotHistory>>();

function slotHistoryOf(context: Context): ReturnType<typeof createSlotHistory> {
  const history = slotHistories.get(context) ?? createSlotHistory(context.reader().connection, context.clock, 0);
  slotHistories.set(context, history);
  return history;
}

/** Reads the state of each workspace. `probe` knows which workspaces are waiting in the queue. */
export function readWorkspaces(context: Context, probe: HealthProbe): WorkspaceLine[] {
  const { config, clock } = context;
  const { connection } = context.reader();
  const sources = {
    factsOf: readSyncFacts(connection),
    waitingSince: probe.waitingSince.bind(probe),
    historyOf: slotHistoryOf(context),
  };
  return listWorkspacesToShow(config, readWorkspaceStatuses(connection), sources, clock.now());
}

export async function readQueues(probe: HealthProbe): Promise<Overview['queues']> {
  return probe.redisUp() ? withTimeout(probe.queueCounts(), QUEUE_DEADLINE_MS).catch(() => null) : null;
}

export async function readOverview(
  scope: Scope,
  { probe, measured }: { probe: HealthProbe; measured: Measurements },
): Promise<Overview> {
  const { rows, matching } = listAlerts.run(scope, {}, { after: null, limit: SHOWN_ALERTS });
  const alerts: SummarizedAlert[] = [];
  for (const alert of rows) if (alerts.push(alert) === SHOWN_ALERTS) break;
  // With many workspaces and alerts, each of these steps takes about as long as other requests may have to wait, so
  // other requests are answered between the steps.
  await nextTurn();
  const workspaces = sortWorstFirst(readWorkspaces(scope.context, probe));
  await nextTurn();
  return {
    faults: readinessFaults(probe),
    workspaces,
    alerts,
    openAlerts: {
      total: matching.length,
      critical: matching.filter(({ severity }) => severity === 'critical').length,
    },
    months: await compareMonths.run(scope, {}),
    outbox: probe.outbox(),
    outlets: measured.outlets(),
    queues: await readQueues(probe),
  };
}
