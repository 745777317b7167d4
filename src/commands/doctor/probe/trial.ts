import type { Config, WorkspaceConfig } from '../../../config/types.ts';
import type { Clock } from '../../../core/clock.ts';
import { parseUsagePage, type UsagePage } from '../../../usage-api/answers/check-page.ts';
import { UsageApiClient, type UsagePageQuery } from '../../../usage-api/client.ts';

const REQUEST_TIMEOUT_MS = 10_000;

interface TrialOptions {
  clock: Clock;
  proxy: Config['proxy'];
}

export interface Asked {
  page: UsagePage;
  latencyMs: number;
  /** Our clock minus the service's; null when it sends none. */
  skewMs: number | null;
}

export interface Trial {
  ask(query: UsagePageQuery): Promise<Asked>;
  keyInUse(): string | null;
  close(): Promise<void>;
}

/** Not the context's client: its patience would make a doctor who says nothing for minutes. */
export function openTrial(workspace: WorkspaceConfig, { clock, proxy }: TrialOptions): Trial {
  const { id, baseUrl, embedUrl, keys, signing, ca } = workspace;
  const client = new UsageApiClient({
    baseUrl,
    embedUrl,
    workspaceId: id,
    keys: () => keys,
    signing,
    concurrency: 1,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    retries: 1,
    ca,
    proxy,
    clock,
  });
  return {
    async ask(query) {
      const asked = clock.monotonic();
      const { requestedAtMs, receivedAtMs, serverDateMs, ...answer } = await client.fetchUsagePage(query);
      const latencyMs = Math.round(clock.monotonic() - asked);
      // The Date header has whole seconds: the service's clock was half a second further on average.
      const skewMs = serverDateMs === null ? null : (requestedAtMs + receivedAtMs) / 2 - (serverDateMs + 500);
      const body = Buffer.concat(answer.body);
      const { page = 1, tenantId } = query;
      return { page: parseUsagePage(body, { page, workspaceId: id, tenantId }), latencyMs, skewMs };
    },
    keyInUse: () => client.keyInUse,
    close: () => client.close(),
  };
}
