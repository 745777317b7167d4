import type { WorkspaceConfig } from '../config/types.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { Period } from '../core/period.ts';
import type { Window } from '../ledger/journal/staging/staging.ts';
import type { Pacer } from '../net/pacer.ts';
import type { Writer } from '../writer/writer.ts';
import type { StagingRoom } from './staging-room.ts';

export interface PageQuery {
  fromPeriod: Period | undefined;
  toPeriod: Period | undefined;
  page: number;
  perPage: number;
}

export function periodsOf({ from, to }: Window): Pick<PageQuery, 'fromPeriod' | 'toPeriod'> {
  return { fromPeriod: from ?? undefined, toPeriod: to ?? undefined };
}

export interface FetchedPage {
  body: Uint8Array[];
  /** Status and type of the response, for the error about a body that is not an API response. */
  status?: number;
  contentType?: string | null;
  /** Call it when the body is no longer needed: the memory for bodies is limited over all runs. */
  release?: () => void;
}

/** Attempts after the first wait for their turn like every other request. */
export interface FetchOptions {
  signal: AbortSignal;
  beforeRetry: Pacer;
}

/** The part of the service's client that a run needs. */
export interface UsageSource {
  fetchUsagePage(query: PageQuery, options: FetchOptions): Promise<FetchedPage>;
  getTenantUsage(
    tenantId: string,
    query: PageQuery,
    options: FetchOptions,
  ): Promise<{ usage: readonly { period: Period }[]; total_pages: number; total_records: number }>;
}

export interface SyncDeps {
  writer: Writer;
  source: UsageSource;
  workspace: WorkspaceConfig;
  /** Shared by all workspaces of a host. */
  pace: Pacer;
  /** Shared by all runs of the process. */
  staging: StagingRoom;
  clock: Clock;
  logger: Logger;
}
