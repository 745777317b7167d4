import { perConnection } from '../../../ledger/store/schema/drizzle.ts';
import type { Judging } from '../judging/judging.ts';

/** So many tenants around the middle one say what a month in the middle comes to. */
const AROUND_MIDDLE = 11;
/** Less is what months differ by. */
const LEAST_GROWTH = 1.3;

const middleTenants = perConnection((connection) =>
  connection.prepare(
    `SELECT base.tenant_key AS tenantKey, coalesce(cur.credits_used, 0) * 1.0 / base.credits_used AS soFar,
         coalesce(cur.credits_used, 0) * 1.0 AS used
       FROM tenant_usage base
       LEFT JOIN tenant_usage cur ON cur.period_key = @periodKey AND cur.tenant_key = base.tenant_key
       WHERE base.period_key = @baseKey AND base.credits_used > 0
       ORDER BY soFar DESC LIMIT ${AROUND_MIDDLE} OFFSET max(0, (SELECT count(*) / 2 FROM tenant_usage
         WHERE period_key = @baseKey AND credits_used > 0) - ${(AROUND_MIDDLE - 1) / 2})`,
  ),
);

/**
 * By how many times more than half of the tenants have grown, in tenths: the middle one, by how far months go on of those around
 * it. Null where they have not grown.
 */
export function commonGrowth(
  { connection, outlook, factsOf }: Judging,
  periods: { periodKey: number; baseKey: number },
): number | null {
  const { periodKey } = periods;
  const { over } = factsOf(periodKey).phase;
  const middle = middleTenants(connection).all(periods) as { tenantKey: number; soFar: number; used: number }[];
  const growths = middle.map(({ tenantKey, soFar, used }) => {
    const forecast = over || used <= 0 ? null : outlook(periodKey, tenantKey);
    return forecast === null ? soFar : soFar * Math.max(1, Number(forecast.likely) / used);
  });
  const growth = growths.sort((a, b) => b - a)[Math.floor(growths.length / 2)] ?? 0;
  const tenths = Math.floor(growth * 10) / 10;
  return tenths >= LEAST_GROWTH ? tenths : null;
}
