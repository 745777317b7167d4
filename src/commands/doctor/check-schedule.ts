import { CronExpressionParser } from 'cron-parser';
import type { Config, WorkspaceConfig } from '../../config/types.ts';
import { AppError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { requestsOfRuns } from '../../ledger/journal/runs/run-facts.ts';
import { openReader } from '../../ledger/store/file/open.ts';
import { type Finding, warn } from './finding.ts';

/** Of the slots to come, so many show the usual pause between two. */
const LOOKED_AT_SLOTS = 50;
/** A listing is read twice as a rule, and one that nobody has read yet has a page at least. */
const LEAST_REQUESTS = 2;
const NAMED_WORKSPACES = 3;
const REMEDY =
  'give the largest ones a slower cron, or raise requests_per_second if the service allows it: slots that come too soon are left out';

interface Demand {
  workspace: WorkspaceConfig;
  /** Requests a second that its cron asks for. */
  perSecond: number;
}

/**
 * Whether the crons ask for more requests than the rates allow, by what the latest runs took: of each host name of the service together, and
 * of each workspace that has a lower rate of its own.
 */
export function checkSchedule({ workspaces, ledger }: Config, nowMs: number): Finding[] {
  const known = readRequests(ledger.path);
  const demands = workspaces.map((workspace): Demand => {
    const requests = Math.max(LEAST_REQUESTS, known.get(workspace.id) ?? 0);
    return { workspace, perSecond: (requests * 1000) / usualPauseMs(workspace.cron, nowMs) };
  });
  const byHost = Map.groupBy(demands, ({ workspace }) => new URL(workspace.baseUrl).host);
  return [...byHost].flatMap(([host, sharing]) => {
    const rate = Math.max(...sharing.map(({ workspace }) => workspace.requestsPerSecond));
    const wanted = sharing.reduce((sum, { perSecond }) => sum + perSecond, 0);
    if (wanted > rate) return [tooDense(host, wanted, rate, sharing)];
    return sharing
      .filter(({ workspace, perSecond }) => perSecond > workspace.requestsPerSecond)
      .map((one) => tooDense(host, one.perSecond, one.workspace.requestsPerSecond, [one]));
  });
}

function tooDense(host: string, wanted: number, rate: number, demands: readonly Demand[]): Finding {
  const largest = demands.toSorted((a, b) => b.perSecond - a.perSecond).slice(0, NAMED_WORKSPACES);
  const names = largest.map(({ workspace }) => inertText(workspace.id)).join(', ');
  const who = demands.length === 1 ? 'workspace' : `${demands.length} workspaces, the largest of them`;
  const message = `the crons ask ${host} for ${wanted.toFixed(1)} requests a second, and ${rate} are allowed (${who} ${names})`;
  return warn('schedule', message, REMEDY, host);
}

/** The middle one of the next pauses, in milliseconds: a night without slots says nothing about the day. */
function usualPauseMs(cron: string, nowMs: number): number {
  const slots = CronExpressionParser.parse(cron, { tz: 'UTC', currentDate: new Date(nowMs) });
  const times = Array.from({ length: LOOKED_AT_SLOTS }, () => slots.next().getTime());
  const pauses = times.slice(1).map((time, index) => time - (times[index] ?? time));
  return pauses.toSorted((a, b) => a - b)[Math.floor(pauses.length / 2)] ?? Number.POSITIVE_INFINITY;
}

/** None while there is no ledger that can be read: another check tells of that. */
function readRequests(path: string): Map<string, number> {
  try {
    const reader = openReader(path);
    try {
      return requestsOfRuns(reader.connection);
    } finally {
      reader.close();
    }
  } catch (error) {
    if (error instanceof AppError) return new Map();
    throw error;
  }
}
