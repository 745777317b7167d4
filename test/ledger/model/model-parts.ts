import { isLater, iso } from './calendar.ts';

/**
 * What the ledger must answer, said again in plain Maps. It knows nothing of the ledger's own code, tables or keys: two
 * accounts of the same history that agree are the test.
 */

export interface Usage {
  credits: bigint;
  requests: bigint;
}

/** What one walk showed: `period tenant` to usage, and the dates by which the service names its periods. */
export interface Listing {
  usage: ReadonlyMap<string, Usage>;
  pages: number;
}

export interface Range {
  from: string | null;
  to: string | null;
}

export interface Figure extends Usage {
  period: string;
  tenant: string;
  withdrawn: boolean;
  firstSeenAt: string;
  changedAt: string;
}

export interface Close {
  at: string;
  by: string;
  note: string;
  forced: boolean;
  figures: Map<string, Figure>;
}

export interface PeriodState {
  period: string;
  start: string;
  end: string;
  asOf: string | null;
  /** When the run that covered it last was begun. */
  askedAt: string | null;
  close: Close | null;
  /** Position in `applied` of the last run whose walk did not agree with the one before it on this period. */
  unsteadyUntil: number;
}

export interface ModelRun {
  runId: string;
  range: Range;
  token: number;
  status: string;
  from: string | null;
  to: string | null;
  startedAt: string;
  finishedAt: string | null;
  pages: number;
  records: number;
  entries: number;
  errorCode: string | null;
}

export type Row = Record<string, unknown>;
/** A row of `finance_adjustments`. */
export type Adjustment = Row & { corrects_period: string; tenant_id: string; booked_period: string } & {
  credits_delta: bigint;
  requests_delta: bigint;
};
export type Reason = 'not_over' | 'settling' | 'no_walk' | 'no_second_walk' | 'absent';

/** How the service dates a period, as ISO-8601 UTC. */
export interface Dates {
  start: string;
  end: string;
}

export function periodOf(key: string): string {
  return key.slice(0, key.indexOf(' '));
}

export function within(period: string, from: string | null, to: string | null): boolean {
  return (from === null || period >= from) && (to === null || period <= to);
}

export function stateOf({ close, end: periodEnd }: PeriodState, nowMs: number): string {
  if (close !== null) return 'closed';
  return isLater(iso(nowMs), periodEnd) ? 'settling' : 'open';
}

export function sumOf(figures: Figure[]): Row {
  return {
    tenants: BigInt(figures.filter(({ withdrawn }) => !withdrawn).length),
    credits_used: figures.reduce((sum, { credits }) => sum + credits, 0n),
    request_count: figures.reduce((sum, { requests }) => sum + requests, 0n),
  };
}

/** What a month shows, and 0 for who had a record in the month before and has none any more. */
export function withStopped(shown: Figure[], previous: Figure[], period: string): Figure[] {
  const stopped = previous.filter(({ withdrawn, tenant }) => {
    return !withdrawn && shown.every((figure) => figure.tenant !== tenant);
  });
  return [...shown, ...stopped.map((figure) => ({ ...figure, period, credits: 0n, requests: 0n }))];
}

export function changeOf(workspaceId: string, figure: Figure, previous: Figure[]): Row {
  const same = previous.find(({ tenant }) => tenant === figure.tenant) ?? null;
  return {
    workspace_id: workspaceId,
    tenant_id: figure.tenant,
    period: figure.period,
    credits_used: figure.credits,
    previous_credits: same?.credits ?? null,
    credits_change: same === null ? null : figure.credits - same.credits,
    request_count: figure.requests,
    previous_requests: same?.requests ?? null,
  };
}

export function end(
  run: ModelRun,
  { status, at, errorCode }: { status: string; at: number; errorCode: string | null },
): void {
  run.status = status;
  run.finishedAt = iso(at);
  run.errorCode = errorCode;
}

/** A listing and the window that it was asked for, as one text. */
export function textOf({ from, to }: Range, { usage, pages }: Listing): string {
  return JSON.stringify([
    from,
    to,
    pages,
    [...usage].map(([key, { credits, requests }]) => `${key} ${credits} ${requests}`),
  ]);
}
