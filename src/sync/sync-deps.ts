import type { ChannelRoute } from '../alerts/routes.ts';
import type { WorkspaceConfig } from '../config/types.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { Period } from '../core/period.ts';
import type { LedgerWriter } from './ledger-writer.ts';

/** The part of the service's client that a run needs. */
export interface UsageSource {
  fetchUsagePage(
    query: { fromPeriod?: Period; toPeriod?: Period; page: number; perPage: number },
    options: { signal: AbortSignal },
  ): Promise<{ body: ArrayBuffer }>;
  getTenantUsage(
    tenantId: string,
    query: { fromPeriod?: Period; toPeriod?: Period; page: number; perPage: number },
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
