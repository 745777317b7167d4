import type { ChannelRoute } from '../alerts/notify/routes.ts';
import type { WorkspaceConfig } from '../config/types.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { Period } from '../core/period.ts';
import type { Window } from '../ledger/staging/staging.ts';
import type { LedgerWriter } from '../writer/ledger-writer.ts';

/** Which page of which periods. */
export interface PageQuery {
  fromPeriod: Period | undefined;
  toPeriod: Period | undefined;
  page: number;
  perPage: number;
}

/** The periods that a request asks for. */
export function periodsOf({ from, to }: Window): Pick<PageQuery, 'fromPeriod' | 'toPeriod'> {
  return { fromPeriod: from ?? undefined, toPeriod: to ?? undefined };
}

/** The part of the service's client that a run needs. */
export interface UsageSource {
  fetchUsagePage(query: PageQuery, options: { signal: AbortSignal }): Promise<{ body: Uint8Array[] }>;
  getTenantUsage(
    tenantId: string,
    query: PageQuery,
    options: { signal: AbortSignal },
  ): Promise<{ usage: readonly { period: Period }[]; total_pages: number }>;
}

export interface SyncDeps {
  writer: LedgerWriter;
  source: UsageSource;
  workspace: WorkspaceConfig;
  /** The channels that there are, with what each of them is told of. */
  channels: readonly ChannelRoute[];
  clock: Clock;
  logger: Logger;
}
