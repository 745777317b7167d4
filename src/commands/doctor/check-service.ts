import type { Config, WorkspaceConfig } from '../../config/types.ts';
import type { Clock } from '../../core/clock.ts';
import { summarizeError } from '../../core/errors.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import { parseUsagePage } from '../../usage-api/answers/check-page.ts';
import { UsageApiClient } from '../../usage-api/client.ts';
import { UnauthorizedError } from '../../usage-api/errors.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

const REQUEST_TIMEOUT_MS = 10_000;
const NOTABLE_SKEW_MS = 30_000;
const HARMFUL_SKEW_MS = 120_000;

/** One signed request: do the credentials work, how fast is the service, and do the clocks agree. */
export async function checkService(
  workspace: WorkspaceConfig,
  { clock, proxy }: { clock: Clock; proxy: Config['proxy'] },
): Promise<Finding[]> {
  const { id, baseUrl, embedUrl, apiKeyId, secretKey, signing, ca } = workspace;
  // Not the context's client: its patience would make a doctor who says nothing for minutes.
  const client = new UsageApiClient({
    baseUrl,
    embedUrl,
    workspaceId: id,
    apiKeyId,
    secretKey,
    signing,
    concurrency: 1,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    retries: 1,
    ca,
    proxy,
    clock,
  });
  try {
    const asked = clock.monotonic();
    const page = await client.fetchUsagePage({ page: 1, perPage: 1 });
    const latencyMs = Math.round(clock.monotonic() - asked);
    const content = parseUsagePage(Buffer.concat(page.body), { page: 1, workspaceId: id });
    const records = formatInteger(content.total_records);
    const answered = ok('service', `${baseUrl} answered in ${latencyMs} ms; it has ${records} records`, id);
    if (page.serverDateMs === null) return [answered];
    // The Date header has whole seconds: the service's clock was half a second further on average.
    const skewMs = (page.requestedAtMs + page.receivedAtMs) / 2 - (page.serverDateMs + 500);
    return [answered, judgeSkew(skewMs, id)];
  } catch (error) {
    const { message, hint } = summarizeError(error);
    const refused = fail('service', message, hint ?? 'check base_url, and whether the service can be reached', id);
    if (!(error instanceof UnauthorizedError) || error.clockSkewMs === null) return [refused];
    return [refused, judgeSkew(error.clockSkewMs, id)];
  } finally {
    await client.close();
  }
}

function judgeSkew(skewMs: number, workspaceId: string): Finding {
  const distanceMs = Math.abs(skewMs);
  const seconds = formatInteger(Math.round(distanceMs / 1000));
  const side = skewMs < 0 ? 'behind' : 'ahead of';
  const message = `this machine's clock is ${seconds} s ${side} the service's`;
  const remedy = 'set the clock and keep it right with NTP: signatures carry a time';
  if (distanceMs > HARMFUL_SKEW_MS) return fail('clock', message, remedy, workspaceId);
  if (distanceMs > NOTABLE_SKEW_MS) return warn('clock', message, remedy, workspaceId);
  return ok('clock', "agrees with the service's", workspaceId);
}
