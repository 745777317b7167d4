import { preparedSql } from '../../../ledger/store/schema/drizzle.ts';
import { periodKeyOf, workspaceKeyOf } from '../../../ledger/store/schema/keys.ts';
import { findJumpThreshold, type PastCreditsReader } from '../../figures/threshold.ts';
import { NO_USAGE } from '../../figures/usage-figures.ts';
import { forecastFromPast } from '../../forecast/forecast.ts';
import { comparedFigures } from '../context/compared.ts';
import { byMateriality } from '../context/materiality.ts';
import type { RuleContext } from '../context/rule-context.ts';
import { clear } from '../judgement.ts';
import { judgeJump } from '../jump/judge-jump.ts';
import type { Detection, OpenAlert, RuleResult } from '../rule.ts';

/** A workspace with fewer tenants is not judged, because the alerts of its tenants show all of the growth. */
const FEW_TENANTS = 5;

/** Detects a jump of the whole workspace. */
export const workspaceJumpDetection: Detection = {
  inPeriod: (_, { isLate }) => (isLate ? [] : [null]),
  ofWorkspace: judgeJumpOfWorkspace,
};

function judgeJumpOfWorkspace(context: RuleContext, periodKey: number, known: OpenAlert | null): RuleResult {
  const { factsOf, settings, total } = context;
  const { period, phase, previousComplete, previousIsFirst } = factsOf(periodKey);
  const { figures, tenants } = total(periodKey);
  const current = figures ?? NO_USAGE;
  const firing = known?.firing ?? null;
  const history: PastCreditsReader = (before) => total(periodKey - before).figures?.credits ?? null;
  const built = findJumpThreshold(period, history, settings.workspace);
  const monthForecast = () => context.monthForecast(periodKey, null);
  const judged = judgeJump({
    current: current.credits,
    phase,
    firing,
    paceMinFraction: settings.workspace.paceMinFraction,
    previous: { figures: total(periodKey - 1).figures, usable: previousComplete && !previousIsFirst },
    threshold: built,
    monthForecast: built === null ? null : monthForecast,
  });
  const counted = tenants < FEW_TENANTS ? clear(true) : judged;
  const isShown = counted.verdict === 'holds' || firing !== null;
  const forecast = isShown && !phase.over ? monthForecast() : null;
  const judgement = byMateriality(context, counted, {
    periodKey,
    tenantKey: null,
    current: current.credits,
    baseline: built?.baseline ?? 0n,
    monthForecast: forecast,
  });
  const base = built === null ? null : { periodKey, baseKey: periodKeyOf(workspaceKeyOf(periodKey), built.period) };
  return {
    judgement,
    current,
    commonGrowth: isShown && base !== null ? commonGrowth(context, base) : null,
    built,
    threshold: built?.credits ?? null,
    previous: comparedFigures(periodKey, built, (key) => total(key).figures),
    forecast,
  };
}

/** To estimate the median growth, this many tenants around it are forecast. */
const AROUND_MIDDLE = 11;
/** Smaller growth is ordinary variation. */
const MIN_COMMON_GROWTH = 1.3;

const middleTenants =
  preparedSql(`SELECT base.tenant_key AS tenantKey, coalesce(cur.credits_used, 0) * 1.0 / base.credits_used AS soFar,
         coalesce(cur.credits_used, 0) * 1.0 AS used
       FROM tenant_usage base
       LEFT JOIN tenant_usage cur ON cur.period_key = @periodKey AND cur.tenant_key = base.tenant_key
       WHERE base.period_key = @baseKey AND base.credits_used > 0
       ORDER BY soFar DESC LIMIT ${AROUND_MIDDLE} OFFSET max(0, (SELECT count(*) / 2 FROM tenant_usage
         WHERE period_key = @baseKey AND credits_used > 0) - ${(AROUND_MIDDLE - 1) / 2})`);

/**
 * Returns the multiple that more than half of the tenants have reached: the median, rounded down to tenths. In an open
 * month, the tenants around the median are forecast. Null below MIN_COMMON_GROWTH, or with fewer than FEW_TENANTS
 * tenants in the compared month.
 */
function commonGrowth(
  { connection, usageHistory, nowMs, factsOf }: RuleContext,
  periods: { periodKey: number; baseKey: number },
): number | null {
  const { periodKey } = periods;
  const { over } = factsOf(periodKey).phase;
  const middle = middleTenants(connection).all(periods) as { tenantKey: number; soFar: number; used: number }[];
  if (middle.length < FEW_TENANTS) return null;
  const growths = middle.map(({ tenantKey, soFar, used }) => {
    // The forecast includes shared changes here, because shared growth is what is measured.
    const current = over || used <= 0 ? null : usageHistory.reading(periodKey, tenantKey, nowMs);
    const forecast = current === null ? null : forecastFromPast(current, usageHistory.of(periodKey, tenantKey));
    return forecast === null ? soFar : soFar * Math.max(1, Number(forecast.likely) / used);
  });
  const growth = growths.sort((a, b) => b - a)[Math.floor(growths.length / 2)] ?? 0;
  const tenths = Math.floor(growth * 10) / 10;
  return tenths >= MIN_COMMON_GROWTH ? tenths : null;
}
