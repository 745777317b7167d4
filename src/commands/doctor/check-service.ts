import type { WorkspaceConfig } from '../../config/types.ts';
import { summarizeError } from '../../core/errors.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import { UnauthorizedError } from '../../usage-api/errors.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import type { Trial } from './probe/trial.ts';

const NOTABLE_SKEW_MS = 30_000;
const HARMFUL_SKEW_MS = 120_000;

/** One signed request: do the credentials work, how fast is the service, and do the clocks agree. */
export async function checkService({ id, baseUrl }: WorkspaceConfig, trial: Trial): Promise<Finding[]> {
  try {
    const { page, latencyMs, skewMs } = await trial.ask({ page: 1, perPage: 1 });
    const records = formatInteger(page.total_records);
    const answered = ok('service', `${baseUrl} answered in ${latencyMs} ms; it has ${records} records`, id);
    return skewMs === null ? [answered] : [answered, judgeSkew(skewMs, id)];
  } catch (error) {
    const { message, hint } = summarizeError(error);
    const refused = fail('service', message, hint ?? 'check base_url, and whether the service can be reached', id);
    if (!(error instanceof UnauthorizedError) || error.clockSkewMs === null) return [refused];
    return [refused, judgeSkew(error.clockSkewMs, id)];
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
