import type { WorkspaceConfig } from '../config/types.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { Period } from '../core/period.ts';
import type { RunWindow } from '../ledger/journal/staging/staging.ts';
import type { Pacer } from '../net/pacer.ts';
import type { Writer } from '../writer/writer.ts';
import type { StagingMemory } from './staging-room.ts';

export interface PageQuery {
  fromPeriod: Period | undefined;
  toPeriod: Period | undefined;
  page: number;
  perPage: number;
}

/** Converts a window of periods to the parameters of a query. */
export function windowParameters({ from, to }: RunWindow): Pick<PageQuery, 'fromPeriod' | 'toPeriod'> {
  return { fromPeriod: from ?? undefined, toPeriod: to ?? undefined };
}

export interface FetchedPage {
  body: Uint8Array[];
  /** The status and content type of the response. Error messages contain both if the body is not an API response. */
  status?: number;
  contentType?: string | null;
  /**
   * Frees the memory of the body. All runs share a limited amount of memory, so call it as soon as the body is not
   * needed.
   */
  release?: () => void;
}

export interface FetchOptions {
  signal: AbortSignal;
  /** Waits for the rate limit before each further attempt, so that retries count towards the limit, too. */
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

/** What a sync of one workspace needs from its process. */
export interface SyncDeps {
  writer: Writer;
  source: UsageSource;
  workspace: WorkspaceConfig;
  /** Waits for the rate limit before each request. All workspaces of a host share the limit. */
  pace: Pacer;
  /** Limits the memory for staged records. All runs of the process share the limit. */
  staging: StagingMemory;
  clock: Clock;
  logger: Logger;
}
